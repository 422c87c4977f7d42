"""How long another library takes to know the skills of a folder; run by the interpreter that has it.

python loading.py LIBRARY FOLDER ROUNDS
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter


def skillkit(folder: str) -> int:
    """This project, and the skillkit of before."""
    from skillkit import SkillManager

    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="")
    manager.discover()
    return len(manager.list_skills())


def deepagents(folder: str) -> int:
    from deepagents.backends.filesystem import FilesystemBackend
    from deepagents.middleware.skills import _list_skills

    return len(_list_skills(FilesystemBackend(root_dir=folder, virtual_mode=False), folder))


def strands(folder: str) -> int:
    from strands.vended_plugins.skills import Skill

    return len(Skill.from_directory(folder))


def agent_framework(folder: str) -> int:
    from agent_framework import FileSkillsSource, SkillsSourceContext

    found = asyncio.run(FileSkillsSource(folder).get_skills(SkillsSourceContext(agent=None)))  # type: ignore[arg-type]
    return len(found)


def adk(folder: str) -> int:
    from google.adk.skills import list_skills_in_dir

    return len(list_skills_in_dir(folder))


def fastmcp(folder: str) -> int:
    from fastmcp.server.providers.skills import SkillsDirectoryProvider

    resources = asyncio.run(SkillsDirectoryProvider(roots=Path(folder)).list_resources())
    return sum(str(resource.uri).endswith("/SKILL.md") for resource in resources)


def floor(folder: str) -> int:
    """List the folders, read 4 KiB of each SKILL.md, parse nothing."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        with open(f"{entry.path}/SKILL.md", "rb") as file:
            file.read(4096)
    return len(entries)


def timed(load: Callable[[str], int], folder: str) -> float:
    started = perf_counter()
    load(folder)
    return perf_counter() - started


def main(library: str, folder: str, rounds: int) -> None:
    logging.disable(logging.CRITICAL)
    load: Callable[[str], int] = globals()[library]
    try:
        found = load(folder)  # also imports what is needed
    except Exception as error:
        print(json.dumps({"failed": type(error).__name__}))
        return
    turns = [(timed(floor, folder), timed(load, folder)) for _ in range(rounds)]
    least, taken = (min(times) for times in zip(*turns, strict=True)) if turns else (1.0, 0.0)
    print(json.dumps({"found": found, "floor": least, "taken": taken}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
