"""`agent --tools`: what the model is really offered, without a skill in use and with each of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Result
from skillkit.agent.cli.turns import Options, runtime_for
from skillkit.disclosure import SkillSession, Tool

if TYPE_CHECKING:
    from skillkit.agent.skills import ProgramSkills

NO_SKILL = ""
MOST_NAMED = 3
"""Skills that are named where a tool comes with some of them."""


def show_tools(options: Options, *, json: bool = False) -> None:
    """Print the tools that the model is offered, and when; as data for programs with their parameters."""
    runtime = runtime_for(options)
    skills = runtime.manager.offered_skills()
    offered = {
        name: _tools_with(runtime.skills, name) for name in (NO_SKILL, *(skill.name for skill in skills))
    }
    together = [skill.name for skill in skills if skill.toolsets]
    if (recollection := runtime.recollection()) is not None:
        for own in recollection.tools():
            always = Tool(own.name, own.description, own.parameters(), own.invoke)
            offered = {name: {**by_name, own.name: always} for name, by_name in offered.items()}
    tools: dict[str, Tool] = {}
    for by_name in (*offered.values(), _tools_with(runtime.skills, *together)):
        for tool in by_name.values():
            tools.setdefault(tool.name, tool)
    rows = [(tool.name, _when(tool, offered), " ".join(tool.description.split())) for tool in tools.values()]
    data = [
        {"name": name, "when": when, "description": what, "parameters": tools[name].parameters}
        for name, when, what in rows
    ]
    Result({"tools": data}, lambda: output.table(("Tool", "When", "What"), rows, flexible="What")).end(
        json=json
    )


def _tools_with(skills: "ProgramSkills", *names: str) -> dict[str, Tool]:
    """Return the tools of a new conversation in which these skills were loaded, one after the other."""
    conversation = skills.conversation(SkillSession())
    tools: tuple[Tool, ...] = ()
    for name in names:
        tools = conversation.disclose(f"/{name}" if name else "").tools
    return {tool.name: tool for tool in tools}


def _when(tool: Tool, offered: Mapping[str, Mapping[str, Tool]]) -> str:
    with_it = [skill for skill, tools in offered.items() if tool.name in tools]
    if not with_it:
        return f"with {tool.skill} beside another skill"
    if len(with_it) == len(offered):
        return "always"
    if NO_SKILL in with_it:
        return "no skill in use"
    if len(with_it) == len(offered) - 1 > 1:
        return "a skill is in use"
    left = len(with_it) - MOST_NAMED
    return f"with {', '.join(with_it[:MOST_NAMED])}{f' and {left} more' if left > 0 else ''}"
