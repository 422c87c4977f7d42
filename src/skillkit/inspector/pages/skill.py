"""One skill: text, files, scripts, permissions, origin and competing skills."""

from collections.abc import Callable
from urllib.parse import quote

from skillkit.core.authority import current_requester
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants
from skillkit.core.models import Diagnostic, Permissions, SkillMetadata
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.cost import SkillCost
from skillkit.disclosure.envelope import skill_context
from skillkit.disclosure.fence import nonce_for
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.inspector.layout import action_address, iso_time, page, skill_address, state
from skillkit.inspector.library import Library, cost_of
from skillkit.inspector.pages import skill_history
from skillkit.inspector.pages.skills import TIERS, token_bar, total, trust
from skillkit.install.capabilities import MEANINGS
from skillkit.install.enabled import SkillStatus
from skillkit.scripts.catalogue import Script, find_scripts
from skillkit.scripts.imports import SkillSourceFiles, read_files
from skillkit.scripts.interpreters import find_interpreter
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, command, facts, legend, nothing, place, section
from skillkit.web.markdown import render

NEIGHBOURS = 6
MAX_HEADER = 32 * 1024


def show(library: Library, name: str) -> str:
    """Return the page of a skill; raises SkillNotFoundError."""
    status = library.status(name)
    skill = status.skill
    return page(
        skill.name,
        "/skills",
        tag("p", skill.description),
        facts(_facts(library, status)),
        _actions(status) if library.manage else None,
        skill_history.usage(library, skill),
        _instructions(library, skill),
        _header(library, skill),
        _files(library, skill),
        _scripts(library, status),
        _card(library, skill),
        skill_history.versions(library, status),
        _neighbours(library, skill),
        skill_history.consents(library, status),
        skill_history.tested(library, skill),
        live=True,
    )


def _actions(status: SkillStatus) -> Markup:
    """Return links to what can be changed beside the remedy, which is in the row of the state."""
    name, refusal, ways = status.skill.name, status.refusal, []
    if refusal is None or refusal.code != "disabled":
        ways.append(link(action_address("disable", name), "Disable"))
    if not status.trust.trusted and not (refusal and refusal.remedy):
        ways.append(link(action_address("trust", name), "Trust"))
    return tag("p", [[way, " "] for way in ways], class_="actions")


def show_file(library: Library, name: str, path: str, offset: int = 0) -> str:
    """Return one page of a file of a skill, as text."""
    skill = library.status(name).skill
    read = library.manager.read_resource(skill.name, path, offset)
    following = None
    if read.next_offset is not None:
        following = link(file_address(skill.name, path, read.next_offset), "Next page")
    content = (
        tag("pre", read.text, data_copied="file")
        if read.text is not None
        else nothing("This file is not text.")
    )
    return page(
        path,
        "/skills",
        tag("p", link(skill_address(skill.name), skill.name), f" · {read.size:,} bytes"),
        content,
        tag("p", following) if following else None,
    )


def file_address(name: str, path: str, offset: int = 0) -> str:
    return f"{skill_address(name)}/file?path={quote(path, safe='')}" + (f"&offset={offset}" if offset else "")


def _facts(library: Library, status: SkillStatus) -> list[tuple[str, object]]:
    skill, record = status.skill, status.installed
    cost = cost_of(library.costs(), skill)
    rows: list[tuple[str, object]] = [
        ("State", state(status, manage=library.manage)),
        ("Trust", trust(status)),
        ("From", skill.source_label),
        ("Folder", place(skill.base_dir)),
        ("Version", skill.version),
        ("Author", skill.author),
        ("Licence", skill.license),
        ("Digest", command(status.trust.digest) if status.trust.digest else None),
        ("Tokens", [token_bar(cost, total(cost)), legend(_tiers(cost))] if cost else None),
    ]
    if record is not None:
        rows += [
            ("Source", record.origin),
            ("Revision", record.revision),
            ("Installed", iso_time(record.installed_at)),
        ]
    return rows


def _tiers(cost: SkillCost) -> list[tuple[str, str]]:
    sizes = (cost.tier1, cost.tier2 or 0, cost.tier3)
    return [(kind, f"{name} {size:,}") for (kind, name), size in zip(TIERS, sizes, strict=True)]


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
    return section("Header", tag("pre", rows, data_copied="header"), rest)


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
        sent = _as_sent(library, skill)
    except SkillsUseError as error:
        return section("Instructions", nothing(f"They cannot be read: {error}"))
    exactly = (
        f"Exactly as a model gets them: about {TokenEstimator().count(sent):,} tokens; the marks around them "
        "are new in each conversation"
    )
    whole = tag("pre", sent, class_="skills", data_copied="text")
    return section(
        "Instructions",
        tag("details", tag("summary", exactly), whole, id="sent"),
        tag("div", render(text), class_="prose tall", tabindex="0", role="region", aria_label="Instructions"),
    )


def _as_sent(library: Library, skill: SkillMetadata) -> str:
    """Return the instructions in the envelope in which a request gets them."""
    text, files = library.manager.invoke_skill(skill.name), library.manager.list_resources(skill.name)
    return skill_context(skill_id(skill), text, files, nonce_for(text), inline=skill.runs_alone)


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
    """Return the packages of third-party modules that a script imports."""
    try:
        sources = SkillSourceFiles(read_files(skill.base_dir, scripts, (".py",)))
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
    digest = status.trust.digest or ""
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
    """Return requested or granted permissions in a line."""
    if isinstance(value, Grants) and not value.run:
        return f"nothing: {value.reason or 'its scripts may not run'}"
    parts = ["the whole network"] if value.network else []
    parts += [f"the host {host}" for host in value.hosts]
    parts += [f"the variable {name}" for name in value.env]
    return ", ".join(parts) or "a sandbox with nothing in it"


def _card(library: Library, skill: SkillMetadata) -> Markup:
    card = library.card(skill)
    if card is None:
        return section("Contents and permissions", nothing("Its folder cannot be read."))
    rows = [
        [label, [tag("div", value) for value in values[:50]], MEANINGS.get(label, "")]
        for label, values in card.facts()
    ]
    content = table(("Kind", "Found", "Meaning"), rows, "Capabilities") if rows else nothing("Text only.")
    return section("Contents and permissions", content)


def _neighbours(library: Library, skill: SkillMetadata) -> Markup | None:
    ranked = library.matcher().rank(skill.description, NEIGHBOURS + 1)
    rows = [
        [
            link(skill_address(match.skill.name), match.skill.name),
            f"{match.score:.2f}",
            ", ".join(match.reasons[:6]),
        ]
        for match in ranked
        if match.skill.base_dir != skill.base_dir and match.score > 0
    ][:NEIGHBOURS]
    if not rows:
        return None
    note = tag("p", "The best scores for the description of this skill as a request.", class_="faint")
    return section("Neighbours", note, table(("Skill", "Score", "Why"), rows, "Neighbours"))
