"""Whether a skill that was found may be used, and if not, why."""

import re
from dataclasses import dataclass

from skillkit._version import __version__
from skillkit.core.models import SkillMetadata


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a skill is not to be used: a code for programs, a reason for people."""

    code: str
    """`disabled`, `untrusted` or `unavailable`."""
    reason: str


def unavailable(skill: SkillMetadata) -> Refusal | None:
    """A command that `skill` needs and that this machine does not have."""
    if not skill.required_commands:
        return None
    missing = [command for command in skill.required_commands if not _has_command(command)]
    if not missing:
        return None
    commands = ", ".join(missing)
    return Refusal("unavailable", f"Skill '{skill.name}' needs {commands}, which is not installed")


def out_of_range(skill: SkillMetadata, version: str = __version__) -> str | None:
    """Why `skill` is not made for this version of skillkit."""
    low, high = skill.min_agent_base_version, skill.max_agent_base_version
    if low and _numbers(version) < _numbers(low):
        return f"Skill '{skill.name}' needs version {low} or newer; this is {version}"
    if high and _numbers(version) > _numbers(high):
        return f"Skill '{skill.name}' is made for versions up to {high}; this is {version}"
    return None


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in re.findall(r"\d+", re.split(r"[-+]", version)[0])]
    return tuple((*numbers, 0, 0, 0)[:3])


def _has_command(command: str) -> bool:
    import shutil

    return shutil.which(command) is not None
