"""Whether a skill that was found may be used, and if not, why."""

import os
import platform
import re
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass

from skillkit._version import __version__
from skillkit.core.models import SkillMetadata


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a skill cannot be used: a code for programs, a reason for people."""

    code: str
    """`disabled`, `untrusted` or `unavailable`; `not_found` of a skill that must not be known to exist."""
    reason: str
    remedy: str = ""
    """The one command that changes it; empty where no command does."""


def unavailable(
    skill: SkillMetadata, has_skill: Callable[[str], object], mcp_servers: Collection[str] | None = None
) -> Refusal | None:
    """Return the missing requirements of `skill`; MCP servers are checked only if `mcp_servers` is given."""
    needs = skill.requires
    if not needs:
        return None
    missing = [
        *(f"{command}, which is not installed" for command in needs.commands if not shutil.which(command)),
        *(f"the variable {name}, which is not set" for name in needs.env if not os.environ.get(name)),
        *(f"the skill '{name}', which was not found" for name in needs.skills if not has_skill(name)),
        *(
            f"the MCP server '{name}', which this program does not offer"
            for name in (needs.mcp if mcp_servers is not None else ())
            if name not in (mcp_servers or ())
        ),
    ]
    if needs.python and not _has_python(skill):
        missing.append(f"Python {needs.python}; this is {platform.python_version()}")
    return Refusal("unavailable", f"Skill '{skill.name}' needs {'; '.join(missing)}") if missing else None


def _has_python(skill: SkillMetadata) -> bool:
    """Whether a Python fits: our own, which toolsets run in, or for scripts any other on this machine."""
    from skillkit.core.pythons import find_python, header_clauses, satisfies  # few skills need subprocess

    wanted = header_clauses(skill.requires.python or "")
    return satisfies(platform.python_version(), wanted) or (
        not skill.toolsets and find_python(wanted) is not None
    )


def out_of_range(skill: SkillMetadata, version: str = __version__) -> str | None:
    """Return why `skill` does not support this version of skillkit."""
    low, high = skill.min_agent_base_version, skill.max_agent_base_version
    if low and _numbers(version) < _numbers(low):
        return f"Skill '{skill.name}' needs version {low} or newer; this is {version}"
    if high and _numbers(version) > _numbers(high):
        return f"Skill '{skill.name}' supports versions up to {high}; this is {version}"
    return None


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in re.findall(r"\d+", re.split(r"[-+]", version)[0])]
    return tuple((*numbers, 0, 0, 0)[:3])
