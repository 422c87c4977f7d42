"""One skill: its text, files, scripts, what it may do, where it is from, who competes with it."""

from collections.abc import Callable
from urllib.parse import quote

from skillkit.core.authority import current_requester
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants
from skillkit.core.models import Diagnostic, Permissions, SkillMetadata
from skillkit.inspector.layout import page
from skillkit.inspector.library import Library, cost_of
from skillkit.inspector.pages.events import conversation_address, entry, when
from skillkit.inspector.pages.manage import action_address
from skillkit.inspector.pages.skills import TIERS, address, state, token_bar, total, trust
from skillkit.inspector.pages.tests import runs_table
from skillkit.install.capabilities import MEANINGS
from skillkit.install.changes import diff_lines, excerpt
from skillkit.install.enabled import SkillStatus
from skillkit.install.record import InstalledSkill
from skillkit.journal import EventFilter, Kind, SkillUsage
from skillkit.scripts.catalogue import Script, find_scripts
from skillkit.scripts.imports import OwnSources, read_files
from skillkit.scripts.interpreters import find_interpreter
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, count_of, facts, legend, nothing, place, section, tiles
from skillkit.web.markdown import render

NEIGHBOURS = 6
EVENTS = 20
MAX_HEADER = 32 * 1024


def show(library: Library, name: str) -> str:
    """Return the page of a skill; raises SkillNotFoundError."""
    status = library.status(name)
    skill = status.skill
    return page(
        skill.name,
        "/",
        tag("p", skill.description),
        facts(_facts(library, status)),
        _actions(status) if library.manage else None,
        _header(library, skill),
        _instructions(library, skill),
        _files(library, skill),
        _scripts(library, status),
        _card(library, skill),
        _versions(library, status),
        _neighbours(library, skill),
        _consents(library, skill),
        _tests(library, skill),
        _usage(library, skill),
        live=True,
    )


def _actions(status: SkillStatus) -> Markup:
    """Return the ways to the questions that this skill leaves open."""
    name = status.skill.name
    enabled = status.refusal is None or status.refusal.code != "disabled"
    ways = [
        link(action_address("disable", name), "Disable")
        if enabled
        else link(action_address("enable", name), "Enable")
    ]
    if not status.standing.trusted:
        ways.append(link(action_address("trust", name), "Trust"))
    return tag("p", [[way, " "] for way in ways], class_="actions")


def show_file(library: Library, name: str, path: str, offset: int = 0) -> str:
    """Return one page of a file of a skill, as text."""
    skill = library.status(name).skill
    read = library.manager.read_resource(skill.name, path, offset)
    following = None
    if read.next_offset is not None:
        following = link(file_address(skill.name, path, read.next_offset), "Next page")
    content = tag("pre", read.text) if read.text is not None else nothing("This file is not text.")
    return page(
        path,
        "/",
        tag("p", link(address(skill.name), skill.name), f" · {read.size:,} bytes"),
        content,
        tag("p", following) if following else None,
    )


def file_address(name: str, path: str, offset: int = 0) -> str:
    return f"{address(name)}/file?path={quote(path, safe='')}" + (f"&offset={offset}" if offset else "")


def _facts(library: Library, status: SkillStatus) -> list[tuple[str, object]]:
    skill, record = status.skill, status.installed
    cost = cost_of(library.costs(), skill)
    rows: list[tuple[str, object]] = [
        ("State", state(status)),
        (
            "Trust",
            [trust(status), " ", status.standing.reason],
        ),
        ("From", skill.source_label),
        ("Folder", place(skill.base_dir)),
        ("Version", skill.version),
        ("Author", skill.author),
        ("Licence", skill.license),
        ("Digest", tag("span", status.standing.digest, class_="mono") if status.standing.digest else None),
        ("Tokens", [token_bar(cost, total(cost)), legend(TIERS)] if cost else None),
    ]
    if record is not None:
        rows += [
            ("Source", record.origin),
            ("Revision", record.revision),
            ("Installed", record.installed_at),
        ]
    return rows


def _header(library: Library, skill: SkillMetadata) -> Markup:
    """Return the header as it stands in the file, with what is wrong beneath the line that it is about."""
    found = library.diagnostics_of(skill)
    try:
        with open(skill.skill_path, encoding="utf-8", errors="replace") as opened:
            lines = _header_lines(opened.read(MAX_HEADER).splitlines())
    except OSError as error:
        return section("Header", nothing(f"It cannot be read: {error.strerror}"))
    here = [one for one in found if one.path == skill.skill_path]
    rows: list[object] = []
    for number, line in enumerate(lines, 1):
        rows.append([tag("span", f"{number:>3}  ", class_="number"), line, "\n"])
        rows += [_said(one) for one in here if one.line == number]
    elsewhere = [
        one for one in found if one.path != skill.skill_path or not 0 < (one.line or 0) <= len(lines)
    ]
    table_rows = [
        [badge(one.severity.value, "warn"), one.code, f"{one.path.name}:{one.line or ''}", one.message]
        for one in elsewhere
    ]
    rest = (
        table(("Severity", "Code", "Where", "What is wrong"), table_rows, "Diagnostics")
        if table_rows
        else None
    )
    return section("Header", tag("pre", rows), rest)


def _header_lines(lines: list[str]) -> list[str]:
    """Return the lines up to the one that ends the header; the first few where there is none."""
    if not lines or lines[0].strip() != "---":
        return lines[:5]
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), 40)
    return lines[: end + 1]


def _said(one: Diagnostic) -> Markup:
    return tag("span", f"     ↑ {one.severity.value} {one.code}: {one.message}\n", class_="said")


def _instructions(library: Library, skill: SkillMetadata) -> Markup:
    try:
        text = library.manager.load_skill(skill.name).content
    except SkillsUseError as error:
        return section("Instructions", nothing(f"They cannot be read: {error}"))
    return section("Instructions", tag("div", render(text), class_="prose"))


def _files(library: Library, skill: SkillMetadata) -> Markup:
    try:
        resources = library.manager.list_resources(skill.name)
    except SkillsUseError as error:
        return section("Files", nothing(str(error)))
    rows = [
        [link(file_address(skill.name, one.path), one.path, class_="mono"), f"{one.size:,}"]
        for one in resources
    ]
    return section("Files", table(("File", "Bytes"), rows, "Files") if rows else nothing("Only SKILL.md."))


def _imports(skill: SkillMetadata, scripts: list[str]) -> Callable[[str], list[str]]:
    """Return what gives the modules that a script imports from neither Python nor its skill."""
    try:
        sources = OwnSources(read_files(skill.base_dir, scripts, (".py",)))
    except (SkillsUseError, OSError):
        return lambda script: []
    return lambda script: sorted({name.partition(".")[0] for name in sources.imports_of(script)})


def _scripts(library: Library, status: SkillStatus) -> Markup | None:
    skill = status.skill
    scripts = find_scripts(skill)
    if not scripts:
        return None
    imports = _imports(skill, [script.relative_path for script in scripts])
    rows = [
        [
            link(file_address(skill.name, script.relative_path), script.name, class_="mono"),
            _interpreter(script),
            ", ".join(imports(script.relative_path)) or "nothing beyond Python",
        ]
        for script in scripts
    ]
    digest = status.standing.digest or ""
    given = library.manager.authority.grants(skill, digest, current_requester())
    return section(
        "Scripts",
        table(("Script", "Run by", "Imports"), rows, "Scripts"),
        facts([("Asks for", _granted(skill.permissions)), ("Is given", _granted(given))]),
    )


def _interpreter(script: Script) -> str:
    try:
        with open(script.path, "rb") as opened:
            return find_interpreter(script.file, opened.read(256)).kind
    except (OSError, SkillsUseError) as error:
        return str(error)


def _granted(value: Permissions | Grants) -> str:
    """Return what was asked for or given, in a line."""
    if isinstance(value, Grants) and not value.run:
        return f"nothing: {value.reason or 'its scripts may not run'}"
    parts = ["the whole network"] if value.network else []
    parts += [f"the host {host}" for host in value.hosts]
    parts += [f"the variable {name}" for name in value.env]
    return ", ".join(parts) or "a sandbox with nothing in it"


def _card(library: Library, skill: SkillMetadata) -> Markup:
    card = library.card(skill)
    if card is None:
        return section("What it brings and asks for", nothing("Its folder cannot be read."))
    rows = [
        [label, [tag("div", value) for value in values[:50]], MEANINGS.get(label, "")]
        for label, values in card.facts()
    ]
    content = (
        table(("Kind", "Found", "What that means"), rows, "Capabilities") if rows else nothing("Text alone.")
    )
    return section("What it brings and asks for", content)


def _versions(library: Library, status: SkillStatus) -> Markup | None:
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
    title = f"{older.version} ({older.installed_at}) → {newer.version} ({newer.installed_at})"
    before, after = library.stored_tree(older), library.stored_tree(newer)
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


def _neighbours(library: Library, skill: SkillMetadata) -> Markup | None:
    ranked = library.matcher().rank(skill.description, NEIGHBOURS + 1)
    rows = [
        [
            link(address(match.skill.name), match.skill.name),
            f"{match.score:.2f}",
            ", ".join(match.reasons[:6]),
        ]
        for match in ranked
        if match.skill.base_dir != skill.base_dir and match.score > 0
    ][:NEIGHBOURS]
    if not rows:
        return None
    note = tag("p", "Skills that come near when its own description is the request.", class_="faint")
    return section("Neighbours", note, table(("Skill", "Score", "Because of"), rows, "Neighbours"))


def _consents(library: Library, skill: SkillMetadata) -> Markup | None:
    kinds = (Kind.CONSENTED, Kind.SCRIPT_ASKED, Kind.SCRIPT_GRANTED, Kind.SCRIPT_DENIED)
    events = library.journal.events(EventFilter(kinds=kinds, skill=skill.canonical_name), limit=EVENTS)
    if not events:
        return None
    entries = tag("ol", [entry(stored) for stored in events], class_="timeline")
    return section("Questions and consents", entries)


def _tests(library: Library, skill: SkillMetadata) -> Markup | None:
    wanted = EventFilter(kinds=(Kind.TESTED,), skill=skill.name)
    events = library.journal.events(wanted, limit=EVENTS)
    return section("Tests", runs_table(events)) if events else None


def _usage(library: Library, skill: SkillMetadata) -> Markup:
    events = library.journal.events(EventFilter(skill=skill.canonical_name), limit=EVENTS)
    used = library.usage()
    counted = used.get(skill.canonical_name) if used is not None else None
    if not events and counted is None:
        return section("Use", nothing("The journal has nothing on this skill yet."))
    rows = [
        [when(stored.event.time), stored.event.kind.value,
         link(conversation_address(stored.event.conversation), stored.event.conversation)
         if stored.event.conversation else ""]
        for stored in events
    ]  # fmt: skip
    newest = table(("When", "What", "Conversation"), rows, "The newest events") if rows else None
    return section("Use", _counted(counted) if counted else None, newest)


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
