"""One search of every source: skills by name, and diagnostics."""

import logging
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypedDict

from skillkit.core.authority import Authority, Requester, decide_offer
from skillkit.core.availability import out_of_range
from skillkit.core.discovery import Discovery
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.models import Diagnostic, Severity, SkillMetadata, SkillSource, SourceType
from skillkit.core.names import canonical_name
from skillkit.core.skill_index import NameConflict, SkillIndex
from skillkit.core.text import escape_hidden
from skillkit.core.walk import SeenFolders

logger = logging.getLogger(__name__)

_SOURCE_ALIASES = {"personal": SourceType.USER}
_LEVELS = {
    Severity.ERROR: logging.ERROR,
    Severity.WARNING: logging.WARNING,
    Severity.INFO: logging.DEBUG,
}


class Scan(NamedTuple):
    """Result of a search."""

    catalogue: SkillIndex
    diagnostics: tuple[Diagnostic, ...]


def scan(sources: Iterable[SkillSource], discovery: Discovery, authority: Authority) -> Scan:
    """Search the sources; of two skills with one name, the earlier source wins."""
    catalogue = SkillIndex()
    diagnostics: list[Diagnostic] = []
    seen = SeenFolders()
    for source in sources:
        for found in discovery.discover(source, seen):
            if isinstance(found, Diagnostic):
                diagnostics.append(found)
                if found.severity is Severity.ERROR:
                    folder = canonical_name(found.path.parent.name)
                    catalogue.skipped.setdefault(folder, f"{found.message} in {found.path}")
                continue
            diagnostics.extend(found.diagnostics)
            if (reason := out_of_range(found)) is not None:
                diagnostics.append(Diagnostic(found.skill_path, "version-range", Severity.ERROR, reason))
                continue
            conflict = catalogue.add(found)
            if conflict is None:
                continue
            ignored = found
            # A folder that somebody adds never takes the name of a skill that the user trusts.
            if _untrusted(conflict.winner, authority) and not _untrusted(found, authority):
                ignored, conflict = conflict.winner, catalogue.promote(conflict.address)
            diagnostics.append(_collision(ignored, conflict))
    discovery.finish(seen)
    return Scan(catalogue, tuple(diagnostics))


class DiagnosticLog:
    """Logs each diagnostic once, however often the sources are searched."""

    def __init__(self) -> None:
        self._logged: set[Diagnostic] = set()

    def log(self, diagnostics: Iterable[Diagnostic]) -> None:
        shown = [found for found in diagnostics if logger.isEnabledFor(_LEVELS[found.severity])]
        for found in shown:
            if found not in self._logged:
                form = "Failed to parse skill at %s: %s" if found.severity is Severity.ERROR else "%s: %s"
                path, message = escape_hidden(str(found.path)), escape_hidden(found.message)
                logger.log(_LEVELS[found.severity], form, path, message)
        self._logged = set(shown)


class SkillFilters(TypedDict, total=False):
    """Filters for skills."""

    source: SourceType | str | None
    """A kind (`project`, `personal`, `plugin`, …) or the label of one source."""
    name: str | None
    """A regular expression that is found anywhere in the name."""
    keywords: str | Iterable[str] | None
    """Words that are all in the description."""


def skill_filter(
    source: SourceType | str | None = None,
    name: str | None = None,
    keywords: str | Iterable[str] | None = None,
) -> Callable[[SkillMetadata], bool]:
    """Whether a skill is of a source, has a name like the expression, and every word in its description."""
    kind = _SOURCE_ALIASES.get(source, source) if source is not None else None
    try:
        pattern = re.compile(name, re.IGNORECASE) if name is not None else None
    except re.error as error:
        raise ConfigurationError(f"Not a regular expression: {name!r} ({error})", "name") from error
    words = [word.lower() for word in (keywords.split() if isinstance(keywords, str) else keywords or ())]

    def passes(skill: SkillMetadata) -> bool:
        return (
            (kind is None or kind in (skill.source, skill.source_label))
            and (pattern is None or pattern.search(skill.name) is not None)
            and all(word in skill.description.lower() for word in words)
        )

    return passes


def _untrusted(skill: SkillMetadata, authority: Authority) -> bool:
    # One index serves every requester, so the requester is empty.
    refusal = decide_offer(authority, skill, Requester())
    return refusal is not None and refusal.code == "untrusted"


def _collision(ignored: SkillMetadata, conflict: NameConflict) -> Diagnostic:
    kept = conflict.winner
    return Diagnostic(
        ignored.skill_path,
        "name-collision",
        Severity.WARNING,
        f"Skill name conflict detected for '{ignored.name}': keeping {kept.skill_path} "
        f"({kept.source_label}), ignoring {ignored.skill_path} ({ignored.source_label}). "
        f"Use qualified name '{conflict.address}' to reach the ignored one",
    )
