"""Skills in smolagents, on the plain interface: `pip install smolagents skillkit`."""

from typing import Any

from smolagents import Tool, ToolCallingAgent

from skillkit.integrations import SkillTools


class SkillTool(Tool):
    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, skills: SkillTools, function: dict[str, Any]) -> None:
        self.name, self.description, self.skills = function["name"], function["description"], skills
        parameters = function["parameters"]
        self.inputs = {
            name: {"description": name, **schema, "nullable": name not in parameters["required"]}
            for name, schema in parameters["properties"].items()
        }
        super().__init__()

    def forward(self, **arguments: Any) -> str:
        return self.skills.call_blocking(self.name, arguments)


def agent_with_skills(skills: SkillTools, **options: Any) -> ToolCallingAgent:
    tools = [SkillTool(skills, each["function"]) for each in skills.tools()]
    return ToolCallingAgent(tools=tools, instructions=skills.instructions(), **options)
