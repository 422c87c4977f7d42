"""Items that need the user: each with the one command, or the page, that resolves it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from skillkit.core.events import Event, Kind
from skillkit.core.models import Severity
from skillkit.inspector.library import Library
from skillkit.install.enabled import SkillStatus

TESTS = 200
"""Number of the newest test runs that are read."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that waits for the user."""

    skill: str
    what: str
    command: str = ""
    status: SkillStatus | None = None
    """Of a skill that may not be used; its refusal has the command."""
    address: str = ""
    """A page that shows more."""


def needs(library: Library) -> Iterator[Need]:
    """Yield what needs the user, the most useful first."""
    shown = set()
    for match, request in library.overlooked():
        status = library.snapshot().checks.judge(match.skill)
        if not status.active:
            shown.add(match.skill.skill_path)
            yield Need(match.skill.name, f"fits “{request[:60]}” ({match.score:.2f})", status=status)
    for status in library.snapshot().checks.statuses:
        refusal = status.refusal
        if refusal is not None and refusal.code != "disabled" and status.skill.skill_path not in shown:
            yield Need(status.skill.name, "is enabled and not used", status=status)
    for number, event in _failing(library):
        said = f"{event.data.get('failed')} of its tests failed"
        yield Need(event.skill, said, f"agent skill test {event.skill}", address=f"/test/{number}")
    for found in library.snapshot().diagnostics:
        if found.severity is Severity.ERROR:
            folder = found.path.parent
            place = f"{found.path.name}:{found.line}" if found.line else found.path.name
            check = f"agent skill validate {shlex.quote(str(folder))}"
            yield Need("", f"{folder.name}/{place}: {found.message}", check)
    if missing := library.enabled.missing():
        yield Need("", missing)


def _failing(library: Library) -> list[tuple[int, Event]]:
    """Return the newest run of tests of each skill, where something failed."""
    newest: dict[str, tuple[int, Event]] = {}
    for stored in library.newest(Kind.TESTED, limit=TESTS):
        newest.setdefault(stored.event.skill, (stored.id, stored.event))
    known = {skill.name for skill in library.snapshot().skills}
    return [one for name, one in newest.items() if one[1].data.get("failed") and name in known]
