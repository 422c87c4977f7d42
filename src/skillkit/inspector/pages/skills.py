"""All skills: status, cost, use and problems."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.core.text import count_of, one_line
from skillkit.disclosure.cost import SkillCost
from skillkit.inspector.layout import COUNTING, NOT_YET, page, skill_address, state, why_trusted
from skillkit.inspector.library import Library, LibraryCost, Snapshot
from skillkit.install.enabled import SkillStatus
from skillkit.journal import SkillUsage
from skillkit.web.charts import bar
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, choice, field, legend, nothing, place, search, section

PAGE = 50
MAX_PROBLEMS = 200
TIERS = (("tier1", "catalogue line"), ("tier2", "instructions"), ("tier3", "files"))
_HEADS = {"name": "Skill", "tokens": "Tokens", "uses": "Uses", "from": "From"}
_LARGEST_FIRST = ("tokens", "uses")


class SkillRow(NamedTuple):
    """A skill with its data; None where it is not yet computed."""

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
    "trusted": ("trusted", lambda row: row.status is not None and row.status.trust.trusted),
    "untrusted": ("not trusted", lambda row: row.status is not None and not row.status.trust.trusted),
    "problems": ("with problems", lambda row: row.problems > 0),
    "unused": (
        "active, never used",
        lambda row: row.status is not None and row.status.active and row.uses == 0,
    ),
}


@dataclass(frozen=True, slots=True)
class SkillQuery:
    """Filters and order of the list of skills."""

    text: str = ""
    source: str = ""
    kind: str = ""
    order: str = "name"
    reverse: bool = False
    offset: int = 0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "SkillQuery":
        return cls(
            query.get("q", "")[:200],
            query.get("from", "")[:128],
            kind if (kind := query.get("which", "")) in _KINDS else "",
            order if (order := query.get("order", "")) in _HEADS else "name",
            bool(query.get("reverse")),
            offset_in(query),
        )

    @property
    def address(self) -> str:
        """The page that shows these."""
        given = {
            "q": self.text,
            "from": self.source,
            "which": self.kind,
            "order": "" if self.order == "name" else self.order,
            "reverse": "1" if self.reverse else "",
            "offset": self.offset or "",
        }
        said = urlencode({name: value for name, value in given.items() if value})
        return f"/skills?{said}" if said else "/skills"

    @property
    def needs_judgement(self) -> bool:
        return self.kind not in ("", "problems")

    def takes(self, row: SkillRow) -> bool:
        if self.source and row.skill.source_label != self.source:
            return False
        if self.kind and not _KINDS[self.kind][1](row):
            return False
        said = f"{row.skill.name} {row.skill.description} {row.skill.source_label}".lower()
        return all(word in said for word in self.text.lower().split())

    def ordered_by(self, order: str) -> "SkillQuery":
        """Return the query of a head: by it, or the other way round where it is the order already."""
        return replace(self, order=order, reverse=order == self.order and not self.reverse, offset=0)

    @property
    def descending(self) -> bool:
        return (self.order in _LARGEST_FIRST) != self.reverse

    def sorted(self, rows: list[SkillRow]) -> list[SkillRow]:
        match self.order:
            case "uses":
                rows = sorted(rows, key=lambda row: (-(row.uses or 0), row.skill.name))
            case "tokens":
                rows = sorted(rows, key=lambda row: (-row.tokens, row.skill.name))
            case "from":
                rows = sorted(rows, key=lambda row: (row.skill.source_label, row.skill.name))
        return rows[::-1] if self.reverse else rows


def offset_in(query: Mapping[str, str], name: str = "offset") -> int:
    """Return a number of an address; 0 for an invalid one."""
    text = query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 16 else 0


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the list, or only what changes while somebody filters."""
    wanted = SkillQuery.of(query)
    snapshot, costs, used = library.snapshot(), library.costs(), library.usage()
    if not snapshot.skills:
        text = (
            "No skills were found. Install some with agent skill add, or write one with agent skill create."
        )
        return page("Skills", "/skills", nothing(text), _problems(snapshot.diagnostics), live=True)
    listed = _listed(library, costs, used, wanted)
    if query.get("part") == "result":
        return listed
    return page(
        "Skills",
        "/skills",
        _form(snapshot, wanted),
        tag("div", listed, id="list", data_follow=True, data_searched=True),
        _problems(snapshot.diagnostics),
        live=True,
    )


def trust(status: SkillStatus) -> Markup:
    """Return whether these very bytes are trusted, and why."""
    trust = status.trust
    word = badge("trusted", "good") if trust.trusted else badge("not trusted")
    return tag("span", word, " ", why_trusted(trust))


def token_bar(cost: SkillCost, whole: float) -> Markup:
    """Return the tokens of the three tiers as a bar and as figures."""
    sizes = (cost.tier1, cost.tier2 or 0, cost.tier3)
    label = ", ".join(f"{name} {size:,}" for (_, name), size in zip(TIERS, sizes, strict=True) if size)
    parts = [(kind, float(size)) for (kind, _), size in zip(TIERS, sizes, strict=True)]
    figure = tag("small", f"{sum(sizes):,}", title=label, class_="faint")
    return tag("div", figure, bar(parts, whole, f"Tokens: {label}"))


def total(cost: SkillCost) -> int:
    """Return the tokens of all three tiers."""
    return cost.tier1 + (cost.tier2 or 0) + cost.tier3


def _form(snapshot: Snapshot, wanted: SkillQuery) -> Markup:
    sources = sorted({skill.source_label for skill in snapshot.skills})
    kinds = {name: words for name, (words, _) in _KINDS.items()}
    return search(
        "/skills",
        "Show",
        field("Filter", "q", wanted.text, type="search"),
        tag("label", "From", choice("from", {name: name for name in sources}, wanted.source, "everywhere")),
        tag("label", "Which", choice("which", kinds, wanted.kind, "all")),
        tag("input", type="hidden", name="order", value=wanted.order),
        data_result="list",
    )


def _listed(
    library: Library, costs: LibraryCost | None, used: Mapping[str, SkillUsage] | None, wanted: SkillQuery
) -> Markup:
    snapshot = library.snapshot()
    by_id = {cost.id: cost for cost in costs.report.skills} if costs else {}
    health = Counter(found.path for found in snapshot.diagnostics if found.severity is not Severity.INFO)
    everything = [_row(snapshot, skill, by_id, used, health) for skill in snapshot.skills]
    found = wanted.sorted([row for row in everything if wanted.takes(row)])
    shown = [
        row._replace(status=snapshot.checks.judge(row.skill))
        for row in found[wanted.offset : wanted.offset + PAGE]
    ]
    largest = max((row.tokens for row in everything), default=0)
    waiting = snapshot.checks.waiting
    remark = [count_of(waiting, "skill"), " ", NOT_YET, "; this list fills as they are."]
    where = _where(wanted.offset, len(shown), len(found), len(everything))
    return tag(
        "div",
        tag("p", where, id="count", role="status", class_="faint"),
        tag("p", remark, class_="notice") if wanted.needs_judgement and waiting else None,
        _drawn(library, shown, largest, wanted) if shown else nothing("No skill matches."),
        _pages(wanted, len(found)),
    )


def _where(offset: int, shown: int, found: int, all_skills: int) -> str:
    of_all = "" if found == all_skills else f", of {all_skills:,} skills"
    if shown == found:
        return f"{count_of(found, 'skill')}{of_all}"
    return f"{offset + 1:,} to {offset + shown:,} of {found:,}{of_all}"


def _pages(wanted: SkillQuery, found: int) -> Markup | None:
    earlier, later = (replace(wanted, offset=max(0, wanted.offset + step)) for step in (-PAGE, PAGE))
    ways = [
        link(earlier.address, "Earlier ones") if wanted.offset else None,
        link(later.address, "More") if later.offset < found else None,
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
    status = snapshot.checks.known(skill)
    return SkillRow(skill, status, costs.get(skill.canonical_name), uses, health.get(skill.skill_path, 0))


def _drawn(library: Library, rows: list[SkillRow], largest: int, wanted: SkillQuery) -> Markup:
    cells = [
        [
            [
                tag("strong", link(skill_address(row.skill.name), row.skill.name)),
                tag("span", one_line(row.skill.description)[:240], class_="clamp small faint"),
                badge(count_of(row.problems, "problem"), "warn") if row.problems else None,
            ],
            state(row.status, manage=library.manage) if row.status else NOT_YET,
            token_bar(row.cost, largest) if row.cost else COUNTING,
            COUNTING if row.uses is None else f"{row.uses:,}",
            f"{row.skill.source_label} {row.skill.version or ''}".strip(),
        ]
        for row in rows
    ]
    orders = {head: wanted.ordered_by(order).address for order, head in _HEADS.items()}
    headings = ("Skill", "State", "Tokens", "Uses", "From")
    listed = table(
        headings,
        cells,
        "Skills",
        orders=orders,
        ordered=_HEADS[wanted.order],
        descending=wanted.descending,
        id="skills",
    )
    return tag("div", legend(TIERS), listed)


def _problems(diagnostics: tuple[Diagnostic, ...]) -> Markup | None:
    shown = [found for found in diagnostics if found.severity is not Severity.INFO]
    if not shown:
        return None
    rows = [
        [badge(found.severity.value, "bad" if found.severity is Severity.ERROR else "warn"), found.code,
         found.message, [place(found.path), f":{found.line}" if found.line else None]]
        for found in shown[:MAX_PROBLEMS]
    ]  # fmt: skip
    rest = f"{len(shown) - MAX_PROBLEMS:,} more are not shown." if len(shown) > MAX_PROBLEMS else None
    return section(
        f"Problems ({len(shown):,})",
        table(("Severity", "Code", "What is wrong", "Where"), rows, "Problems"),
        tag("p", rest, class_="faint") if rest else None,
    )
