"""Skills as LangChain tools."""

from typing import TYPE_CHECKING

try:
    from langchain_core.tools import StructuredTool
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise ImportError(
        "The LangChain integration needs langchain-core: pip install 'skillkit[langchain]'"
    ) from error

if TYPE_CHECKING:
    from skillkit.core.manager import SkillManager
    from skillkit.core.models import SkillMetadata

__all__ = ["SkillInput", "create_langchain_tools"]


class SkillInput(BaseModel):
    """What a skill takes when it is called as a tool."""

    model_config = ConfigDict(str_strip_whitespace=True)

    arguments: str = Field(default="", description="Arguments to pass to the skill")


def create_langchain_tools(manager: "SkillManager") -> list[StructuredTool]:
    """A tool for each skill that a model may be offered; calling it gives the skill's instructions."""
    return [_tool(manager, skill) for skill in manager.offered_skills()]


def _tool(manager: "SkillManager", skill: "SkillMetadata") -> StructuredTool:
    def invoke(arguments: str = "") -> str:
        return manager.invoke_skill(skill.name, arguments)

    async def ainvoke(arguments: str = "") -> str:
        return await manager.ainvoke_skill(skill.name, arguments)

    return StructuredTool(
        name=skill.name,
        description=skill.description,
        args_schema=SkillInput,
        func=invoke,
        coroutine=ainvoke,
    )
