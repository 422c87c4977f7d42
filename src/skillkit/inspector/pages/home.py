"""Home: what is active and what it costs, what happened lately, what needs the user, what is never used."""

import shlex
from itertools import islice

from skillkit.core.text import count_of, one_line
from skillkit.disclosure.cost import CostReport
from skillkit.disclosure.disclosed import TokenUse
from skillkit.inspector.attention import Need, needs
from skillkit.inspector.layout import COUNTING, NOT_YET, page, skill_link, skill_names, state
from skillkit.inspector.library import USES, Library, request_text
from skillkit.inspector.pages.events import days_chart, event_list
from skillkit.install.enabled import SkillStatus
from skillkit.journal import Kind
from skillkit.web.charts import bar
from skillkit.web.html import Markup, link, tag
from skillkit.web.layout import command, field, legend, nothing, panel, search, tiles

DAYS = 14
LATELY = (Kind.MATCHED, Kind.SCRIPT_RUN, Kind.SCRIPT_DENIED, Kind.REFUSED)
SHOWN, NEWEST, MAX_NAMES = 5, 3, 8
MAX_COUNTED = 100
"""Things that need the user, beyond which they are no longer counted."""


def show(library: Library) -> str:
    """Return the four answers on one screen."""
    return page(
        "Skills on this machine",
        "/",
        _ask(),
        tag(
            "div",
            _active(library),
            _needs(library),
            _lately(library),
            _never_used(library),
            class_="panels",
            id="answers",
            data_follow=True,
        ),
        live=True,
        unseen=True,
    )


def _ask() -> Markup:
    label = "What would you ask? See which skill is used, and why the others are not."
    return search(
        "/request", "Explain", field(label, "q", placeholder="Turn this CSV into a report", maxlength=8_192)
    )


def _active(library: Library) -> Markup:
    checks, costs = library.snapshot().checks, library.costs()
    active = [status for status in checks.statuses if status.active]
    known = len(checks.skills)
    looked = [f"{checks.waiting:,} ", NOT_YET] if checks.waiting else f"of {known:,} that were found"
    figures: list[tuple[str, object, object]] = [("Active", f"{len(active):,}", looked)]
    if costs is not None and active:
        every, report = costs.every_prompt, costs.report
        figures += [
            ("In every prompt", f"{every.total:,}", "tokens, without a skill"),
            ("Instead of", f"{report.static:,}", "tokens of all instructions"),
        ]
    elif costs is None:
        figures.append(("In every prompt", COUNTING, ""))
    content: list[object] = [tiles(figures)]
    if costs is not None and costs.every_prompt.total:
        content.append(_every_prompt(costs.every_prompt))
    if active:
        content.append(tag("p", skill_names([status.skill.name for status in active], MAX_NAMES)))
        if costs is not None:
            content.append(tag("p", _listed(costs.report), class_="small faint"))
    elif known and not checks.waiting:
        content.append(_nothing_active(library, checks.statuses))
    elif not known:
        content.append(nothing("No skill was found. Install some with agent skill add OWNER/REPOSITORY, or "
                               "write one with agent skill create NAME."))  # fmt: skip
    more = link("/skills?which=active" if active else "/skills", "Active skills" if active else "All skills")
    return panel("Active here", *content, more=more, identity="active")


def _every_prompt(tokens: TokenUse) -> Markup:
    parts = [
        ("catalogue", float(tokens.catalogue)),
        ("tools", float(tokens.tools)),
        ("note", float(tokens.note)),
    ]
    names = {"catalogue": "list of skills", "tools": "tool schemas", "note": "remarks"}
    label = ", ".join(f"{names[kind]} {size:,.0f}" for kind, size in parts if size)
    return tag(
        "div",
        bar(parts, tokens.total, f"Tokens in every prompt: {label}"),
        legend((kind, f"{names[kind]} {size:,.0f}") for kind, size in parts if size),
    )


def _nothing_active(library: Library, statuses: list[SkillStatus]) -> Markup:
    """Return why no skill is active, and the command for one of them."""
    first = next((status for status in statuses if status.refusal and status.refusal.remedy), None)
    said = one_line(library.enabled.selection.origin)[:80]
    example = [tag("p", state(first, manage=library.manage))] if first else None
    return tag("div", tag("p", f"No skill is active ({said})."), example)


def _listed(report: CostReport) -> str:
    """Return which skills the budget of the list leaves out."""
    if report.unlisted:
        return (
            f"The budget leaves {count_of(report.unlisted, 'skill')} out of the list: a model finds them "
            "with search_skills and gets the nearest with each request."
        )
    if report.shortened:
        described = report.listed - report.shortened
        return f"{described:,} are listed with their description, {report.shortened:,} by name."
    return "Each is listed with its description."


def _needs(library: Library) -> Markup:
    waiting = [*islice(needs(library), MAX_COUNTED)]
    rows = [tag("li", _need(one, manage=library.manage)) for one in waiting]
    content = tag("ul", rows[:SHOWN], class_="plain") if rows else nothing("Nothing needs your attention.")
    asked = library.newest(Kind.MATCHED, limit=1)
    if not rows and asked and not request_text(asked[0].event):
        unknown = "Which skills would have fitted is not known: texts of requests are kept only with "
        said = tag("p", unknown, tag("code", "ENABLE_SENSITIVE_DATA=true"), class_="small faint")
        content = tag("div", content, said)
    number = f"{len(waiting)}{'+' if len(waiting) == MAX_COUNTED else ''}"
    more = tag("summary", f"{len(waiting) - SHOWN:,} more", class_="small")
    rest = tag("details", more, tag("ul", rows[SHOWN:], class_="plain"), id="more-needs")
    offline = "Updates are not listed, because this page asks no server: "
    updates = tag("p", offline, command("agent skill outdated"), class_="small faint")
    title = f"Needs you ({number})" if waiting else "Needs you"
    return panel(title, content, rest if len(waiting) > SHOWN else None, updates, identity="needs")


def _need(one: Need, *, manage: bool) -> list[object]:
    skill = [skill_link(one.skill), " "] if one.skill else None
    if one.status is not None:
        return [skill, one.what, ": ", state(one.status, manage=manage)]
    more = [" ", link(one.address, "Show"), " "] if one.address else " "
    return [skill, one.what, more, command(one.command) if one.command else None]


def _lately(library: Library) -> Markup:
    events = library.newest(*LATELY, limit=NEWEST)
    if not events:
        content: object = nothing("No request was recorded yet. Ask something with agent -p “…”.")
    else:
        library.usage()
        counted = dict([*library.by_day.items()])
        content = [days_chart(counted, DAYS, USES, "Uses of skills by day", height=72), event_list(events)]
    return panel("Lately", content, more=link("/conversations", "Conversations"), identity="lately")


def _never_used(library: Library) -> Markup:
    used, checks = library.usage(), library.snapshot().checks
    if used is None:
        return panel("Never used", tag("p", COUNTING), identity="unused")
    idle = [
        status.skill
        for status in checks.statuses
        if status.active and not ((usage := used.get(status.skill.canonical_name)) and usage.uses)
    ]
    more = link("/skills?which=unused", "Unused skills")
    if not idle:
        text = (
            "Every active skill was used."
            if any(s.active for s in checks.statuses)
            else "No skill is active."
        )
        return panel("Never used", nothing(text), more=more, identity="unused")
    names = " ".join(shlex.quote(skill.canonical_name) for skill in idle[:3])
    return panel(
        f"Never used ({len(idle):,})",
        tag("p", f"{count_of(len(idle), 'active skill')} that no request has used:"),
        tag("p", skill_names([skill.name for skill in idle], MAX_NAMES)),
        tag("p", command(f"agent skill disable {names}")),
        more=more,
        identity="unused",
    )
