"""Pages for every reader: search, owner, skill, difference, files."""

from collections.abc import Iterable

from starlette.responses import PlainTextResponse, Response

from skillkit.core.header import split
from skillkit.core.text import count_of
from skillkit.install.capabilities import Capabilities
from skillkit.install.changes import diff_lines, excerpt, file_changes
from skillkit.install.tree import SkillTree
from skillkit.registry.access import NOT_HANDED_OUT, Purpose
from skillkit.registry.exceptions import MissingError
from skillkit.registry.frame import (
    card_table,
    difference_table,
    moment,
    page,
    skill_address,
    state_badge,
)
from skillkit.registry.publishing import routing_seen_by
from skillkit.registry.repository import tag_of
from skillkit.registry.server import Ask, Endpoint
from skillkit.registry.store import SkillRow, VersionRow
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import FILES, command, facts, field, nothing, search, section
from skillkit.web.markdown import render


def _home(ask: Ask) -> Response:
    asked = ask.query.get("q", "")
    found = ask.registry.search(ask.caller, asked, 50) if asked else ask.registry.newest(ask.caller, 50)
    form = search("/", "Search", field("Search skills", "q", asked, type="search"), data_filters="list")
    listed = _skills(found, "Nothing found." if asked else "Nothing is published yet.")
    return page(ask, "Skills", "/", form, tag("div", listed, id="list", data_searched=True))


def _skills(found: Iterable[SkillRow], otherwise: str) -> Markup:
    rows = [
        (link(skill_address(skill), skill.title), skill.description, skill.downloads, moment(skill.updated))
        for skill in found
    ]
    return (
        table(("Skill", "Description", "Downloads", "Updated"), rows, "Skills")
        if rows
        else nothing(otherwise)
    )


def _owner(ask: Ask) -> Response:
    skills = ask.registry.skills_of(ask.caller, ask.path["owner"])
    name = ask.registry.readable_owner(ask.caller, ask.path["owner"])["name"]
    lines = section("Install", _line(f"npx skills add {ask.base}/{name}"))
    return page(ask, name, "", _skills(skills, "Nothing is published yet."), lines)


def _line(text: str) -> Markup:
    return tag("p", command(text))


def _shown(ask: Ask) -> tuple[SkillRow, VersionRow]:
    """Return the skill and version of the address: by default the latest, or the highest visible."""
    number = ask.path.get("number", "")
    purpose = Purpose.FETCH if number else Purpose.SEE
    skill = ask.registry.skill(ask.caller, ask.path["skill"], ask.path["owner"], purpose)
    if number or skill.latest is not None:
        return skill, ask.registry.version(ask.caller, skill, number, Purpose.SEE)
    version = next(iter(ask.registry.versions(ask.caller, skill)), None)
    if version is None:
        raise MissingError
    return skill, version


def _skill(ask: Ask) -> Response:
    skill, version = _shown(ask)
    return page(ask, f"{skill.title} {version.number}", "", *describe(ask, skill, version))


def describe(ask: Ask, skill: SkillRow, version: VersionRow) -> list[Markup]:
    """Return the sections about a version."""
    versions = ask.registry.versions(ask.caller, skill)
    text = version.instructions.encode()
    body = text[split(text).body_start :].decode("utf-8", "replace")
    return [
        facts(
            [
                ("State", state_badge(version.state)),
                ("Reason", version.reason),
                ("Description", str(version.checks.get("description", ""))),
                ("Published by", version.publisher),
                ("At", moment(version.created)),
                ("Version in the header", version.header),
                ("Digest", tag("span", version.digest, class_="mono")),
                ("Signed by", ", ".join(version.card.signed) or "nobody"),
                ("Changes", version.changelog),
            ]
        ),
        section("What it may do", card_table(version.card)),
        section("Install", _install_lines(ask, skill, version)),
        section("Tests", _tests(version)),
        section("Competing skills", _competing(ask, version)),
        section("Versions", _versions(skill, versions)),
        section("Instructions", tag("div", render(body), class_="prose")),
        section("Files", _files(skill, version)),
    ]


def _install_lines(ask: Ask, skill: SkillRow, version: VersionRow) -> Markup:
    base, owner, is_latest = ask.base, skill.owner_name, version.id == skill.latest
    place = f"{base}/{skill.title}" + ("" if is_latest else f"/{version.number}")
    named = "" if is_latest else f"--version {version.number} "
    wanted = f"{'^' if is_latest else ''}{version.number}"
    lines = [
        ("agent", f"agent skill add {place}"),
        ("npx skills", f"npx skills add {place}"),
        ("clawhub", f"CLAWHUB_REGISTRY={base} clawhub install {named}@{skill.title}"),
        ("apm, in apm.yml", f"- {{id: {skill.title}, version: {wanted}, registry: corp}}"),
        ("git", f"git clone --branch {tag_of(skill, version)} {base}/git/{owner}.git"),
    ]
    if is_latest:
        lines += [
            (
                "Claude Code",
                f"claude plugin marketplace add {base}/claude/{owner}/marketplace.json",
            ),
            ("Claude Code", f"claude plugin install {skill.name}@{owner}"),
            ("MCP", f"{base}/mcp/{owner}"),
            ("ADK", f"AGENT_REGISTRY_ENDPOINT={base}/adk"),
        ]
    return table(("Client", "Line"), [(client, command(line)) for client, line in lines], "Install lines")


def _tests(version: VersionRow) -> list[Markup]:
    validation = version.checks.get("validation", {})
    rows = [
        (each["outcome"], each["rule"], "; ".join(each["problems"]))
        for each in version.checks.get("static", ())
    ]
    verdicts = [(each["client"], each["outcome"], each["reason"]) for each in validation.get("clients", ())]
    return [
        table(("Result", "Rule", "Problems"), rows, "Static tests")
        if rows
        else tag("p", "Every static test passed."),
        table(("Client", "Does", "Because"), verdicts, "What clients do with it"),
    ]


def _competing(ask: Ask, version: VersionRow) -> list[Markup]:
    found = routing_seen_by(ask.registry, ask.caller, version.checks.get("routing", {}))
    own = [("won" if each["won"] else "lost", each["request"], each["winner"]) for each in found["own"]]
    taken = [(each["skill"], each["request"]) for each in found["taken"]]
    return [
        tag("p", "Nearest: ", ", ".join(found["nearest"]) or "none"),
        table(("Result", "Request", "Winner"), own, "Its own cases")
        if own
        else nothing("No routing cases to show."),
        table(("Skill", "Request"), taken, "Cases that it would take") if taken else Markup(""),
        tag("p", f"Not tried: {count_of(found['untried'], 'case')}.") if found["untried"] else Markup(""),
    ]


def _versions(skill: SkillRow, versions: list[VersionRow]) -> Markup:
    rows = []
    shown = [each for each in versions if each.state not in NOT_HANDED_OUT]
    older = dict(zip((each.id for each in shown), shown[1:], strict=False))
    for each in versions:
        before = older.get(each.id)
        compare = f"{skill_address(skill, 'compare')}?from={before.number}&to={each.number}" if before else ""
        rows.append(
            (
                link(skill_address(skill, each.number), each.number),
                state_badge(each.state),
                moment(each.created),
                each.publisher,
                link(compare, f"since {before.number}") if before else "",
            )
        )
    return table(("Version", "State", "At", "By", "Difference"), rows, "Versions")


def _files(skill: SkillRow, version: VersionRow) -> Markup:
    rows = [
        (
            link(skill_address(skill, version.number, "files", *file["path"].split("/")), file["path"]),
            f"{file['size']:,}",
            tag("span", file["sha256"], class_="mono"),
        )
        for file in version.files
    ]
    return table(("File", "Bytes", "SHA-256"), rows, "Files")


def _compare(ask: Ask) -> Response:
    skill = ask.registry.skill(ask.caller, ask.path["skill"], ask.path["owner"])
    versions = [
        ask.registry.version(ask.caller, skill, ask.query.get(side, "") or "-", Purpose.SEE)
        for side in ("from", "to")
    ]
    if any(version.state in NOT_HANDED_OUT for version in versions):
        raise MissingError
    return page(
        ask, f"{skill.title} {versions[0].number} to {versions[1].number}", "", *compare(ask, *versions)
    )


def compare(ask: Ask, old: VersionRow | None, new: VersionRow) -> list[Markup]:
    """Return the difference of two versions, or of a new one, in capabilities and files."""
    before, after = (SkillTree(ask.registry.files(each) if each else {}) for each in (old, new))
    card = old.card if old else Capabilities()
    changes = file_changes(before.digest.files, after.digest.files)
    shown = excerpt(list(diff_lines(before.contents, after.contents)))
    kinds = {"+": "added", "-": "removed"}
    lines = [tag("span", f"{line}\n", class_=kinds.get(line[:1])) for line in shown.lines]
    if shown.hidden_lines:
        lines.append(tag("span", f"… and {shown.hidden_lines:,} more changed lines", class_="faint"))
    return [
        section("What it may do", difference_table(card.difference(new.card))),
        section("Files", tag("ul", [tag("li", str(change)) for change in changes])),
        section("Difference", tag("pre", lines)),
    ]


def _file(ask: Ask) -> Response:
    skill = ask.registry.skill(ask.caller, ask.path["skill"], ask.path["owner"], Purpose.FETCH)
    _, file = ask.registry.file(ask.caller, skill, ask.path["number"], ask.path["path"])
    return PlainTextResponse(file.content, headers={"content-security-policy": "sandbox; default-src 'none'"})


def _static(ask: Ask) -> Response:
    if ask.path["name"] not in FILES:
        raise MissingError
    path, kind = FILES[ask.path["name"]]
    return Response(path.read_bytes(), media_type=kind, headers={"cache-control": "max-age=3600"})


ENDPOINTS = (
    Endpoint("/", _home, is_page=True),
    Endpoint("/static/{name}", _static),
    Endpoint("/{owner}", _owner, is_page=True),
    Endpoint("/{owner}/{skill}", _skill, is_page=True),
    Endpoint("/{owner}/{skill}/compare", _compare, is_page=True),
    Endpoint("/{owner}/{skill}/{number}", _skill, is_page=True),
    Endpoint("/{owner}/{skill}/{number}/files/{path:path}", _file, is_page=True),
)
