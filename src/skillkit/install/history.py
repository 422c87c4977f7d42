"""Whether the sources of installed skills hold something newer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillkit.install.exceptions import InstallError
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.source import Access, OpenSource, Source, ask_each_source
from skillkit.install.tree import SkillTree

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Freshness:
    """An installed skill compared with its source."""

    skill: InstalledSkill
    latest: str | None = None
    """The revision of its source now."""
    outdated: bool = False
    """Whether its files are others there."""
    note: str = ""
    error: str = ""


def freshness(
    skills: Sequence[InstalledSkill], access: Access, stored: Callable[[InstalledSkill], SkillTree]
) -> list[Freshness]:
    """Ask every source once, several at a time; one that does not answer is an error of its skills.

    `stored` returns the files of an installed skill, to be compared with those of the source.
    """

    def ask(source: Source, members: list[InstalledSkill]) -> list[Freshness]:
        if source.pinned:
            return [Freshness(skill, skill.revision, note="pinned to its version") for skill in members]
        try:
            with source.open(access) as opened:
                return [_compare(opened, skill, stored) for skill in members]
        except InstallError as error:
            return [Freshness(skill, error=str(error)) for skill in members]

    answers = ask_each_source(skills, lambda skill: skill.source, ask, access, _AT_ONCE)
    order = {skill.name_canonical: place for place, skill in enumerate(skills)}
    return sorted(answers, key=lambda found: order[found.skill.name_canonical])


def _compare(
    opened: OpenSource, skill: InstalledSkill, stored: Callable[[InstalledSkill], SkillTree]
) -> Freshness:
    now = opened.revision
    if now is not None and now == skill.revision:
        return Freshness(skill, now, note="; ".join(opened.notes))
    try:
        same = opened.holds(skill.subpath, stored(skill))
    except InstallError as error:
        return Freshness(skill, now, error=str(error))
    return Freshness(skill, now, not same, "; ".join((*opened.notes, *opened.moved(skill.revision))))
