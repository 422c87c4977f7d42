"""Skills in CrewAI, on the plain interface: `pip install crewai skillkit`."""

from typing import Any

from crewai import Agent
from crewai.tools import BaseTool
from pydantic import create_model

from skillkit.integrations import SkillTools

TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def agent_with_skills(skills: SkillTools, *, backstory: str = "", **options: Any) -> Agent:
    def tool(function: dict[str, Any]) -> BaseTool:
        parameters = function["parameters"]
        fields: Any = {
            name: (TYPES[schema["type"]], ... if name in parameters["required"] else None)
            for name, schema in parameters["properties"].items()
        }

        class SkillTool(BaseTool):
            def _run(self, **arguments: Any) -> str:
                return skills.call_blocking(self.name, arguments)

        arguments = create_model(f"{function['name']}_arguments", **fields)
        return SkillTool(name=function["name"], description=function["description"], args_schema=arguments)

    tools = [tool(each["function"]) for each in skills.tools()]
    return Agent(backstory=f"{backstory}\n\n{skills.instructions()}", tools=tools, **options)
