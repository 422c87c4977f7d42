"""What happened to one skill: uses, versions with their differences, consents, tests."""

import shlex
import time
from collections import Counter
from datetime import date, timedelta
from urllib.parse import quote

from skillkit.core.models import SkillMetadata
from skillkit.core.text import count_of
from skillkit.disclosure.session import Origin
from skillkit.inspector.layout import conversation_address, iso_time
from skillkit.inspector.library import USES, Library
from skillkit.inspector.pages.events import days_chart, summary, timeline
from skillkit.inspector.pages.tests import over_time, runs_table
from skillkit.install.changes import diff_lines, excerpt
from skillkit.install.enabled import SkillStatus
from skillkit.install.record import InstalledSkill
from skillkit.journal import EventFilter, Kind, SkillUsage
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, command, local_time, nothing, section, tiles

EVENTS = 20
DAYS = 30
MAX_EVENTS = 2_000
"""That are counted by day."""


def usage(library: Library, skill: SkillMetadata) -> Markup:
    """Return how often a skill was used, by day, and what happened last."""
    events = library.journal.events(EventFilter(skill=skill.canonical_name), limit=EVENTS)
    used = library.usage()
    counted = used.get(skill.canonical_name) if used is not None else None
    if not events and counted is None:
        ask = [" Try a request that should bring it in: ", link(f"/request?q={quote(skill.name)}", "Request")]
        return section("Use", nothing("The journal has nothing on this skill yet.", ask))
    rows = [
        [
            link(conversation_address(stored.event.conversation), local_time(stored.event.time))
            if stored.event.conversation
            else local_time(stored.event.time),
            summary(stored.event),
        ]
        for stored in events
    ]
    newest = table(("When", "Event"), rows, "Newest events") if rows else None
    recent = tag("details", tag("summary", "The newest events"), newest, id="newest") if newest else None
    return section("Use", _counted(counted) if counted else None, _days(library, skill), recent)


def _counted(usage: SkillUsage) -> Markup:
    beaten = usage.always_beaten_by
    remarks = [
        f"{count_of(usage.missed, 'time')} loaded by hand though no request had matched it"
        if usage.missed
        else "",
        f"always beaten by {beaten}" if beaten else "",
    ]
    figures = [
        ("Matched", f"{usage.matched:,}", ""),
        ("Loaded", f"{usage.loaded:,}", ""),
        ("Files read", f"{usage.read:,}", ""),
        ("Scripts run", f"{usage.run:,}", f"{usage.failed:,} failed" if usage.failed else ""),
        ("Tokens spent", f"{usage.tokens:,}", "on its instructions"),
    ]
    return tag("div", tiles(figures), [tag("p", remark, class_="notice") for remark in remarks if remark])


def _days(library: Library, skill: SkillMetadata) -> list[Markup] | None:
    """Return how often it came, was loaded, run or refused on each of the last days."""
    since = time.mktime((date.today() - timedelta(days=DAYS - 1)).timetuple())
    kinds = {Kind.ACTIVATED: ("requests", "came with a request")} | USES
    wanted = EventFilter(kinds=tuple(kinds), skill=skill.canonical_name, since=since)
    found = Counter(
        (date.fromtimestamp(stored.event.time), stored.event.kind)
        for stored in library.journal.events(wanted, limit=MAX_EVENTS)
        if stored.event.data.get("origin") != Origin.LOADED  # its event of loading counts
    )
    return days_chart(found, DAYS, kinds, "Uses by day", height=140)


def versions(library: Library, status: SkillStatus) -> Markup | None:
    """Return the versions that were installed, each with what the next one changed."""
    record = status.installed
    if record is None or not record.previous:
        return None
    parts = []
    newer = record
    for older in record.previous:
        parts.append(_difference(library, older, newer))
        newer = older
    return section("Versions", parts)


def _difference(library: Library, older: InstalledSkill, newer: InstalledSkill) -> Markup:
    before, after = library.stored_tree(older), library.stored_tree(newer)
    title = [before[2] if before else older.version, " (", iso_time(older.installed_at), ") → ",
             after[2] if after else newer.version, " (", iso_time(newer.installed_at), ")"]  # fmt: skip
    if before is None or after is None:
        return tag("details", tag("summary", title), nothing("The earlier files are no longer in the store."))
    gained = [
        tag("li", f"{label}: ", [tag("span", f"+ {one} ", class_="added") for one in more],
            [tag("span", f"− {one} ", class_="removed") for one in fewer])
        for label, more, fewer in before[1].difference(after[1])
    ]  # fmt: skip
    lines = [
        tag("span", line + "\n", class_={"+": "added", "-": "removed"}.get(line[:1]))
        for line in _shown(list(diff_lines(before[0].contents, after[0].contents)))
    ]
    return tag("details", tag("summary", title), tag("ul", gained) if gained else None, tag("pre", lines))


def _shown(diff: list[str]) -> list[str]:
    """Return the lines that fit a page, and how many do not."""
    part = excerpt(diff, max_lines=2_000)
    rest = [f"… {part.hidden_lines:,} more changed lines"] if part.hidden_lines else []
    return [*part.lines, *rest]


def consents(library: Library, status: SkillStatus) -> Markup | None:
    """Return the user's consents with their digests, and those about scripts."""
    skill = status.skill
    names = {skill.name, skill.canonical_name}
    consents = [one for one in library.enabled.authority.consents.load() if one.skill in names]
    rows = [
        [
            "you",
            badge(one.kind.value),
            iso_time(one.granted_at),
            tag("span", one.digest[:24], class_="mono", title=one.digest),
            badge("current", "good") if one.digest == status.trust.digest else badge("changed since"),
        ]
        for one in reversed(consents)
    ]
    kinds = (Kind.CONSENTED, Kind.SCRIPT_ASKED, Kind.SCRIPT_GRANTED, Kind.SCRIPT_DENIED)
    events = library.journal.events(EventFilter(kinds=kinds, skill=skill.canonical_name), limit=EVENTS)
    if not (rows or events):
        return None
    given = table(("Who", "Consent to", "When", "Digest", "State"), rows, "Consents") if rows else None
    return section("Consents", given, timeline(events) if events else None)


def tested(library: Library, skill: SkillMetadata) -> Markup:
    """Return the results of its tests over time, with the command that makes them."""
    wanted = EventFilter(kinds=(Kind.TESTED,), skill=skill.name)
    events = library.journal.events(wanted, limit=EVENTS)
    again = tag(
        "p", "Test it with ", command(f"agent skill test {shlex.quote(skill.canonical_name)}"), class_="faint"
    )
    return section(
        "Tests", over_time(events) if events else None, runs_table(events) if events else None, again
    )
