"""`agent skill source …`: installed Python packages and MCP servers as places that skills come from."""

import asyncio
import shlex
from typing import Annotated, Any

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.asking import Asker
from skillkit.agent.cli.families import Result, group
from skillkit.agent.cli.options import Yes, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.skill.installing import installer
from skillkit.agent.cli.skill_names import complete_source
from skillkit.core.codec import encode
from skillkit.core.disk import agent_home, remove_tree
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.extras import pip_install
from skillkit.core.packages import package_skill_folders
from skillkit.core.text import count_of, escape_hidden
from skillkit.install.added_sources import REMOTE_FOLDER, AddedSource, AddedSources, remote_folder
from skillkit.integrations.mcp.client import MCPSkillSource, RemoteSkill

app = group(
    "source",
    "Add, list and remove skill sources.",
    epilog=examples("agent skill source add some_package", "agent skill source list"),
)


@app.command(
    epilog=examples(
        "agent skill source add some_package",
        "agent skill source add office --mcp https://skills.example.com/mcp",
        "agent skill source add office --command 'agent serve --mcp'",
    )
)
def add(
    name: Annotated[str, typer.Argument(help="A Python package, or a name for an MCP server.")],
    url: Annotated[str | None, typer.Option("--mcp", metavar="URL", help="The server's address.")] = None,
    command: Annotated[str | None, typer.Option(help="Command that starts a stdio server.")] = None,
    yes: Yes = False,
) -> None:
    """Add an installed Python package that ships skills, or an MCP server that offers some.

    Each skill of a server is fetched after a question that shows its digest; add it again to see what is
    new. Skills of both are untrusted until you say otherwise.
    """
    if url and command:
        raise typer.BadParameter("--mcp and --command cannot be combined")
    announced: list[str] = []
    source = AddedSource(name, url or "", tuple(shlex.split(command or "")))
    if source.is_package:
        if not list(package_skill_folders([name])):
            raise SkillsUseError(
                f"No installed package '{escape_hidden(name)}' ships skills in .agents/skills. "
                "Name a server with --mcp URL or --command"
            )
    else:
        with installer(yes=yes) as (_, asker):
            announced = asyncio.run(_fetch(source, asker))
    _sources().add(source)
    names = [skill.name for skill in _skills_of(source)]
    output.say(f"Added {escape_hidden(name)}: {count_of(len(names), 'skill')}", "green")
    for found in names:
        output.say(f"  {escape_hidden(found)}{' (not fetched)' if found in announced else ''}")
    if fetched := [found for found in names if found not in announced]:
        output.remark(f"To use one: agent skill trust {escape_hidden(fetched[0])}")
    elif names:
        output.remark("To fetch what is announced, add the source again and agree, or pass --yes")


@app.command("list")
def list_sources() -> Result:
    """Show the sources that were added, and their skills."""
    sources = _sources().load()
    found = {source.name: [skill.name for skill in _skills_of(source)] for source in sources}
    data = [{**encode(source), "skills": found[source.name]} for source in sources]
    rows = [(source.name, source.address, ", ".join(found[source.name]) or "none") for source in sources]
    columns = ("Name", "Address", "Skills")
    otherwise = "No source was added. Add one: agent skill source add NAME"
    return Result(data, lambda: output.listing(columns, rows, flexible="Skills", otherwise=otherwise))


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The name of a source.", autocompletion=complete_source)],
) -> None:
    """Remove a source; what was fetched from it goes too."""
    sources = _sources()
    if not sources.remove(name):
        known = ", ".join(source.name for source in sources.load()) or "none"
        raise SkillsUseError(f"There is no source '{escape_hidden(name)}'. Sources: {known}")
    folder = remote_folder(sources.home / REMOTE_FOLDER, name)
    if folder.is_dir():
        remove_tree(folder)
    output.say(f"Removed {escape_hidden(name)}.")


def _sources() -> AddedSources:
    return AddedSources(agent_home())


def _skills_of(source: AddedSource) -> list[Any]:
    label = f"{'package' if source.is_package else 'mcp'}-{source.name}"
    return [skill for skill in enabled_skills().manager.list_skills() if skill.source_label == label]


async def _fetch(source: AddedSource, asker: Asker) -> list[str]:
    """Ask about each skill that a server offers and fetch what the user agrees to; return the others."""
    try:
        from mcp import StdioServerParameters

    except ImportError as error:
        raise SkillsUseError(f"MCP servers need another package: {pip_install('mcp')}") from error
    server: Any = source.url
    if source.command:
        server = StdioServerParameters(command=source.command[0], args=list(source.command[1:]))
    remote = MCPSkillSource(source.name, server)
    return [skill.name for skill in await remote.sync() if not await _offer(remote, skill, asker)]


async def _offer(remote: MCPSkillSource, skill: RemoteSkill, asker: Asker) -> bool:
    size = sum(file.size for file in skill.tree.files.values())
    described = output.summary(str(skill.frontmatter.get("description") or ""), 200)
    output.remark(f"{escape_hidden(skill.name)}: {described}")
    output.remark(f"  {count_of(len(skill.tree.files), 'file')}, {size:,} bytes, {skill.digest}")
    agreed = await asyncio.to_thread(asker.confirm, f"Fetch {escape_hidden(skill.name)}?")
    if agreed:
        await remote.consent(skill.uri, skill.digest)
    return agreed
