"""Skills in Strands Agents, on the plain interface: `pip install strands-agents skillkit`."""

from typing import Any

from strands import Agent
from strands.tools.tools import PythonAgentTool

from skillkit.integrations import SkillTools


def agent_with_skills(skills: SkillTools, **options: Any) -> Agent:
    def tool(function: dict[str, Any]) -> PythonAgentTool:
        async def call(use: Any, **_: Any) -> Any:
            result = await skills.result(function["name"], use["input"])
            status = "error" if result.failed else "success"
            return {"toolUseId": use["toolUseId"], "status": status, "content": [{"text": result.text}]}

        name, schema = function["name"], {"json": function["parameters"]}
        spec: Any = {"name": name, "description": function["description"], "inputSchema": schema}
        return PythonAgentTool(name, spec, call)

    tools = [tool(each["function"]) for each in skills.tools()]
    return Agent(system_prompt=skills.instructions(), tools=tools, **options)
