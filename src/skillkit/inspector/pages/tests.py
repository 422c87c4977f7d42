"""Results of tests of skills, the newest first."""

from skillkit.inspector.html import link, table
from skillkit.inspector.layout import badge, nothing, page
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import when
from skillkit.inspector.pages.skills import address
from skillkit.journal import EventFilter, Kind


def show(library: Library) -> str:
    """Return the runs of `agent skill test` that the journal knows, for comparison over time."""
    events = library.journal.events(EventFilter(kinds=(Kind.TESTED,)), limit=500)
    if not events:
        return page("Tests", "/tests", nothing("No skill was tested yet."), live=True)
    rows = []
    for stored in events:
        data = stored.event.data
        failed = data.get("failed")
        rows.append(
            [
                when(stored.event.time),
                link(address(stored.event.skill), stored.event.skill),
                badge(f"{data.get('passed', '?')} passed", "good"),
                badge(f"{failed} failed", "bad") if failed else "",
                f"{data.get('not_judged', 0)} not judged",
            ]
        )
    return page(
        "Tests", "/tests", table(("When", "Skill", "Passed", "Failed", "Open"), rows, "Tests"), live=True
    )
