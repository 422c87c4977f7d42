"""Skills in DSPy, on the plain interface: `pip install dspy skillkit`."""

from typing import Any

import dspy

from skillkit.integrations import SkillTools


def module_with_skills(skills: SkillTools, signature: str = "question -> answer") -> dspy.ReAct:
    def tool(function: dict[str, Any]) -> dspy.Tool:
        def call(**arguments: Any) -> str:
            return skills.call_blocking(function["name"], arguments)

        properties = function["parameters"]["properties"]
        return dspy.Tool(call, name=function["name"], desc=function["description"], args=properties)

    tools = [tool(each["function"]) for each in skills.tools()]
    return dspy.ReAct(dspy.Signature(signature, skills.instructions()), tools=tools)
