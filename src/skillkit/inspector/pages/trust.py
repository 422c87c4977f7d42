"""Trust: what the user said yes to, since when, and what waits for an answer."""

from skillkit.inspector.html import link, table, tag
from skillkit.inspector.layout import badge, nothing, page, place, section
from skillkit.inspector.library import Library
from skillkit.inspector.pages.manage import action_address
from skillkit.inspector.pages.skills import address


def show(library: Library) -> str:
    """Return every consent and every skill whose bytes nobody has approved."""
    consents = library.enabled.authority.consents.load()
    digests = {status.standing.digest for status in library.snapshot().statuses}
    rows = [
        [
            consent.skill,
            badge(consent.kind.value),
            consent.granted_at,
            tag("span", consent.digest[:24], class_="mono"),
            badge("these bytes are here", "good") if consent.digest in digests else badge("other bytes now"),
            consent.place or consent.server,
        ]
        for consent in consents
    ]
    waiting = [
        [
            [
                link(address(status.skill.name), status.skill.name),
                [" ", link(action_address("trust", status.skill.name), "Answer")] if library.manage else None,
            ],
            status.standing.reason,
            place(status.skill.base_dir),
        ]
        for status in library.snapshot().statuses
        if not status.standing.trusted
    ]
    headings = ("Skill", "To what", "Since", "Digest", "Now", "Where")
    return page(
        "Trust",
        "/trust",
        section(
            "Consents", table(headings, rows, "Consents") if rows else nothing("No consent was given yet.")
        ),
        section(
            "Not trusted",
            table(("Skill", "Why", "Folder"), waiting, "Skills that are not trusted")
            if waiting
            else nothing("Every skill that was found is trusted."),
        ),
        live=True,
    )
