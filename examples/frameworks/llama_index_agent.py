"""Skills in LlamaIndex, on the plain interface: `pip install llama-index-core skillkit`."""

from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool, ToolMetadata

from skillkit.integrations import SkillTools


class SkillMetadata(ToolMetadata):
    def get_parameters_dict(self) -> dict[str, Any]:
        return self.parameters


def agent_with_skills(skills: SkillTools, **options: Any) -> FunctionAgent:
    def tool(function: dict[str, Any]) -> FunctionTool:
        async def call(**arguments: Any) -> str:
            return await skills.call(function["name"], arguments)

        metadata = SkillMetadata(function["description"], function["name"], fn_schema=None)
        metadata.parameters = function["parameters"]
        return FunctionTool(async_fn=call, metadata=metadata)

    tools = [tool(each["function"]) for each in skills.tools()]
    return FunctionAgent(system_prompt=skills.instructions(), tools=tools, **options)
