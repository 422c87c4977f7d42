"""All skills: where they are from, what they cost, how much they are used, what is wrong."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.core.text import one_line
from skillkit.disclosure.cost import CostReport, SkillCost
from skillkit.inspector.layout import page
from skillkit.inspector.library import Library, Snapshot
from skillkit.install.enabled import SkillStatus
from skillkit.install.selection import Selection
from skillkit.journal import SkillUsage
from skillkit.web.html import Markup, bar, link, table, tag
from skillkit.web.layout import badge, choice, count_of, legend, nothing, section, tiles

PAGE = 50
MAX_PROBLEMS = 200
TIERS = (("tier1", "its line"), ("tier2", "instructions"), ("tier3", "files"))
_ORDERS = {"name": "by name", "uses": "most used first", "tokens": "largest first"}
_VIEWS = {"table": "table", "cards": "cards"}
NOT_YET = "not looked at yet"


class SkillRow(NamedTuple):
    """A skill with what is known of it; None where nobody has looked or counted yet."""

    skill: SkillMetadata
    status: SkillStatus | None
    cost: SkillCost | None
    uses: int | None
    problems: int

    @property
    def tokens(self) -> int:
        return total(self.cost) if self.cost else 0


_KINDS: dict[str, tuple[str, Callable[[SkillRow], bool]]] = {
    "active": ("active", lambda row: row.status is not None and row.status.active),
    "inactive": ("not active", lambda row: row.status is not None and not row.status.active),
    "trusted": ("trusted", lambda row: row.status is not None and row.status.standing.trusted),
    "untrusted": ("not trusted", lambda row: row.status is not None and not row.status.standing.trusted),
    "problems": ("with problems", lambda row: row.problems > 0),
    "unused": ("never used", lambda row: row.uses == 0),
}


@dataclass(frozen=True, slots=True)
class SkillQuery:
    """Which skills are wanted, in which order, in which form."""

    text: str = ""
    source: str = ""
    kind: str = ""
    order: str = "name"
    view: str = "table"
    offset: int = 0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "SkillQuery":
        offset = query.get("offset", "")
        return cls(
            query.get("q", "")[:200],
            query.get("from", "")[:128],
            kind if (kind := query.get("which", "")) in _KINDS else "",
            order if (order := query.get("order", "")) in _ORDERS else "name",
            view if (view := query.get("view", "")) in _VIEWS else "table",
            int(offset) if offset.isdecimal() and len(offset) < 9 else 0,
        )

    def address(self, offset: int) -> str:
        """Return the page that shows the same from another row on."""
        given = {
            "q": self.text,
            "from": self.source,
            "which": self.kind,
            "order": self.order,
            "view": self.view,
            "offset": offset or "",
        }
        return f"/?{urlencode({name: value for name, value in given.items() if value})}"

    @property
    def needs_judgement(self) -> bool:
        return self.kind in ("active", "inactive", "trusted", "untrusted")

    def takes(self, row: SkillRow) -> bool:
        if self.source and row.skill.source_label != self.source:
            return False
        if self.kind and not _KINDS[self.kind][1](row):
            return False
        said = f"{row.skill.name} {row.skill.description} {row.skill.source_label}".lower()
        return all(word in said for word in self.text.lower().split())

    def sorted(self, rows: list[SkillRow]) -> list[SkillRow]:
        if self.order == "uses":
            return sorted(rows, key=lambda row: (-(row.uses or 0), row.skill.name))
        if self.order == "tokens":
            return sorted(rows, key=lambda row: (-row.tokens, row.skill.name))
        return rows


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the first page, or only what changes while somebody filters."""
    wanted = SkillQuery.of(query)
    snapshot, report, used = library.snapshot(), library.costs(), library.usage()
    if not snapshot.skills:
        text = "No skills were found. Install some, or write one."
        return page("Skills", "/", nothing(text), _problems(snapshot.diagnostics), live=True)
    listed = _listed(snapshot, report, used, wanted)
    if query.get("part") == "result":
        return listed
    return page(
        "Skills",
        "/",
        tag("div", _budget(snapshot, report, library.enabled.selection), id="budget", data_follow=True),
        _form(snapshot, wanted),
        tag("div", listed, id="list", data_follow=True),
        _problems(snapshot.diagnostics),
        live=True,
    )


def address(name: str) -> str:
    """Return the page of a skill."""
    return f"/skill/{quote(name, safe='')}"


def state(status: SkillStatus) -> Markup:
    """Return whether a skill is active here and, if not, why and the one command that changes that."""
    refusal = status.refusal
    if refusal is None:
        return badge("active", "good")
    reason = refusal.reason.removesuffix(refusal.remedy)
    remedy = tag("code", refusal.remedy) if reason != refusal.reason else None
    return tag("span", badge(refusal.code, "warn"), " ", tag("small", reason, remedy))


def trust(status: SkillStatus) -> Markup:
    """Return whether these very bytes are trusted, and why."""
    standing = status.standing
    word = badge("trusted", "good") if standing.trusted else badge("not trusted")
    return tag("span", word, title=standing.reason)


def token_bar(cost: SkillCost, whole: float) -> Markup:
    """Return the tokens of the three tiers as a bar and as figures."""
    sizes = (cost.tier1, cost.tier2 or 0, cost.tier3)
    label = ", ".join(f"{name} {size:,}" for (_, name), size in zip(TIERS, sizes, strict=True) if size)
    parts = [(kind, size) for (kind, _), size in zip(TIERS, sizes, strict=True)]
    return tag(
        "div",
        bar(parts, whole, f"Tokens: {label}"),
        tag("small", f"{sum(sizes):,}", title=label, class_="faint"),
    )


def total(cost: SkillCost) -> int:
    """Return the tokens of all three tiers."""
    return cost.tier1 + (cost.tier2 or 0) + cost.tier3


def _form(snapshot: Snapshot, wanted: SkillQuery) -> Markup:
    sources = sorted({skill.source_label for skill in snapshot.skills})
    kinds = {name: words for name, (words, _) in _KINDS.items()}
    search = tag("input", type="search", name="q", value=wanted.text, autocomplete="off")
    return tag(
        "form",
        tag("label", "Filter", search),
        tag("label", "From", choice("from", {name: name for name in sources}, wanted.source, "everywhere")),
        tag("label", "Which", choice("which", kinds, wanted.kind, "all")),
        tag("label", "Order", choice("order", _ORDERS, wanted.order)),
        tag("label", "As", choice("view", _VIEWS, wanted.view)),
        tag("button", "Show", type="submit"),
        action="/",
        role="search",
        data_result="list",
    )


def _listed(
    snapshot: Snapshot, report: CostReport | None, used: Mapping[str, SkillUsage] | None, wanted: SkillQuery
) -> Markup:
    costs = {cost.id: cost for cost in report.skills} if report else {}
    health = Counter(found.path for found in snapshot.diagnostics if found.severity is not Severity.INFO)
    everything = [_row(snapshot, skill, costs, used, health) for skill in snapshot.skills]
    found = wanted.sorted([row for row in everything if wanted.takes(row)])
    shown = [
        row._replace(status=snapshot.judgements.judge(row.skill))
        for row in found[wanted.offset : wanted.offset + PAGE]
    ]
    largest = max((row.tokens for row in everything), default=0)
    waiting = snapshot.judgements.waiting
    remark = (
        tag("p", f"{count_of(waiting, 'skill')} {NOT_YET}; this list fills as they are.", class_="notice")
        if wanted.needs_judgement and waiting
        else None
    )
    where = _where(wanted.offset, len(shown), len(found), len(everything))
    return tag(
        "div",
        tag("p", where, id="count", role="status", class_="faint"),
        remark,
        _drawn(shown, largest, wanted.view) if shown else nothing("No skill is like that."),
        _pages(wanted, len(found)),
    )


def _where(offset: int, shown: int, found: int, all_skills: int) -> str:
    of_all = "" if found == all_skills else f", of {all_skills:,} skills"
    if shown == found:
        return f"{count_of(found, 'skill')}{of_all}"
    return f"{offset + 1:,} to {offset + shown:,} of {found:,}{of_all}"


def _pages(wanted: SkillQuery, found: int) -> Markup | None:
    ways = [
        link(wanted.address(max(0, wanted.offset - PAGE)), "Earlier ones") if wanted.offset else None,
        link(wanted.address(wanted.offset + PAGE), "More") if wanted.offset + PAGE < found else None,
    ]
    return tag("p", ways, class_="actions") if any(ways) else None


def _row(
    snapshot: Snapshot,
    skill: SkillMetadata,
    costs: Mapping[str, SkillCost],
    used: Mapping[str, SkillUsage] | None,
    health: Mapping[Path, int],
) -> SkillRow:
    usage = used.get(skill.canonical_name) if used is not None else None
    uses = None if used is None else usage.uses if usage else 0
    status = snapshot.judgements.known(skill)
    return SkillRow(skill, status, costs.get(skill.canonical_name), uses, health.get(skill.skill_path, 0))


def _drawn(rows: list[SkillRow], largest: int, view: str) -> Markup:
    if view == "cards":
        cards = [_card(row, largest) for row in rows]
        return tag("ul", cards, class_="cards", id="skills", aria_label="Skills")
    headings = ("Skill", "Description", "From", "State", "Trust", "Health", "Tokens", "Uses")
    cells = [
        [
            tag("strong", link(address(row.skill.name), row.skill.name)),
            tag("span", one_line(row.skill.description)[:240], class_="clamp"),
            _from(row),
            state(row.status) if row.status else NOT_YET,
            trust(row.status) if row.status else NOT_YET,
            _health(row),
            _tokens(row, largest),
            _uses(row),
        ]
        for row in rows
    ]
    return table(headings, cells, "Skills", id="skills")


def _card(row: SkillRow, largest: int) -> Markup:
    words = [state(row.status), trust(row.status)] if row.status else [badge(NOT_YET)]
    return tag(
        "li",
        tag("h2", link(address(row.skill.name), row.skill.name)),
        tag("p", one_line(row.skill.description)[:240], class_="clamp"),
        tag("p", [[word, " "] for word in words], _health(row) if row.problems else None),
        _tokens(row, largest),
        tag("p", _from(row), " · ", _uses(row), " uses", class_="faint"),
    )


def _from(row: SkillRow) -> str:
    return f"{row.skill.source_label} {row.skill.version or ''}".strip()


def _health(row: SkillRow) -> Markup:
    return badge(count_of(row.problems, "problem"), "warn") if row.problems else badge("good", "good")


def _tokens(row: SkillRow, largest: int) -> Markup:
    return token_bar(row.cost, largest) if row.cost else tag("span", "counting …", class_="faint")


def _uses(row: SkillRow) -> object:
    return tag("span", "counting …", class_="faint") if row.uses is None else f"{row.uses:,}"


def _budget(snapshot: Snapshot, report: CostReport | None, selection: Selection) -> Markup:
    """Return how many skills are active, what every prompt pays, and which skills the budget leaves out."""
    waiting = snapshot.judgements.waiting
    looked = f"{waiting:,} {NOT_YET}" if waiting else "all looked at"
    active = sum(status.active for status in snapshot.judgements.statuses)
    found = (
        ("Skills", f"{len(snapshot.skills):,}", looked),
        ("Active", f"{active:,}", one_line(selection.origin)[:80]),
    )
    if report is None:
        return tiles([*found, ("In every prompt", "counting …", "")])
    return tag(
        "div",
        tiles(
            [
                *found,
                ("In every prompt", f"{report.catalogue:,} tokens", f"of a budget of {report.budget:,}"),
                ("All instructions", f"{report.static:,} tokens", "if they were all in the prompt"),
                ("Counted by", report.counter, ""),
            ]
        ),
        tag("p", _falls_out(report)),
        legend(TIERS),
    )


def _falls_out(report: CostReport) -> str:
    """Return who falls out of the budget."""
    described = report.listed - report.shortened
    if report.unlisted:
        beyond = f"{count_of(report.unlisted, 'skill')} fall out of the budget: the model is told that they "
        return beyond + "exist, finds them by search_skills, and is told the nearest with each request."
    if report.shortened:
        return (
            f"Nobody falls out of the budget, but {count_of(report.shortened, 'description')} do: these "
            f"skills are named only. {described:,} are described."
        )
    return f"Nobody falls out of the budget: {count_of(report.listed, 'skill')} on offer, each with a line."


def _problems(diagnostics: tuple[Diagnostic, ...]) -> Markup | None:
    shown = [found for found in diagnostics if found.severity is not Severity.INFO]
    if not shown:
        return None
    rows = [
        [badge(found.severity.value, "bad" if found.severity is Severity.ERROR else "warn"), found.code,
         found.message, tag("span", f"{found.path}:{found.line or ''}", class_="mono")]
        for found in shown[:MAX_PROBLEMS]
    ]  # fmt: skip
    rest = f"{len(shown) - MAX_PROBLEMS:,} more are not shown." if len(shown) > MAX_PROBLEMS else None
    return section(
        f"Problems ({len(shown):,})",
        table(("Severity", "Code", "What is wrong", "Where"), rows, "Problems"),
        tag("p", rest, class_="faint") if rest else None,
    )
