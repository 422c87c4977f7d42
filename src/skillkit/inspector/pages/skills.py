"""All skills: where they are from, what they cost, how much they are used, what is wrong."""

from collections import Counter
from collections.abc import Mapping
from urllib.parse import quote

from skillkit.core.models import Diagnostic, Severity
from skillkit.core.text import one_line
from skillkit.disclosure.cost import CostReport, SkillCost
from skillkit.inspector.html import Markup, bar, link, table, tag
from skillkit.inspector.layout import badge, facts, nothing, page, section
from skillkit.inspector.library import Library, Snapshot
from skillkit.install.enabled import SkillStatus
from skillkit.journal import SkillUsage


def show(library: Library) -> str:
    """Return the first page."""
    snapshot, report, used = library.snapshot(), library.costs(), library.usage()
    return library.remembered("skills", lambda: _made(snapshot, report, used))


def _made(snapshot: Snapshot, report: CostReport | None, used: Mapping[str, SkillUsage]) -> str:
    if not snapshot.statuses:
        text = "No skills were found. Install some, or write one."
        return page("Skills", "/", nothing(text), _problems(snapshot.diagnostics), live=True)
    costs = {cost.id: cost for cost in report.skills} if report else {}
    largest = max((_total(cost) for cost in costs.values()), default=0)
    health = Counter(found.path for found in snapshot.diagnostics if found.severity is not Severity.INFO)
    rows = [
        _row(status, costs, largest, used, health[status.skill.skill_path]) for status in snapshot.statuses
    ]
    headings = ("Skill", "Description", "From", "State", "Trust", "Tokens", "Uses")
    return page(
        "Skills",
        "/",
        _budget(report),
        tag(
            "form",
            tag(
                "label",
                "Filter",
                tag("input", type="search", data_filter="#skills", data_count="count", autocomplete="off"),
            ),
            tag("span", f"{len(rows)} of {len(rows)}", id="count", role="status", class_="faint"),
            role="search",
        ),
        table(headings, rows, "Skills", id="skills"),
        _problems(snapshot.diagnostics),
        live=True,
    )


def address(name: str) -> str:
    """Return the page of a skill."""
    return f"/skill/{quote(name, safe='')}"


def state(status: SkillStatus) -> Markup:
    """Return whether a skill is in use here and, if not, why."""
    if status.refusal is not None:
        return tag("span", badge(status.refusal.code, "warn"), title=status.refusal.reason)
    return badge("active", "good")


def trust(status: SkillStatus) -> Markup:
    """Return whether these very bytes are trusted, and why."""
    standing = status.standing
    word = badge("trusted", "good") if standing.trusted else badge("not trusted")
    return tag("span", word, title=standing.reason)


def token_bar(cost: SkillCost, whole: float) -> Markup:
    parts = (("tier1", cost.tier1), ("tier2", cost.tier2 or 0), ("tier3", cost.tier3))
    label = f"{cost.tier1:,} for its line, {cost.tier2 or 0:,} for instructions, {cost.tier3:,} for files"
    return tag("div", bar(parts, whole, label), tag("small", label, class_="faint"))


def _row(
    status: SkillStatus,
    costs: Mapping[str, SkillCost],
    largest: int,
    used: Mapping[str, SkillUsage],
    problems: int,
) -> list[object]:
    skill = status.skill
    cost = costs.get(skill.canonical_name)
    usage = used.get(skill.canonical_name)
    return [
        tag("strong", link(address(skill.name), skill.name)),
        one_line(skill.description)[:240],
        f"{skill.source_label} {skill.version or ''}".strip(),
        [state(status), [" ", badge(f"problems: {problems}", "warn")] if problems else None],
        trust(status),
        token_bar(cost, largest) if cost else tag("span", "counting …", class_="faint"),
        usage.uses if usage else 0,
    ]


def _total(cost: SkillCost) -> int:
    return cost.tier1 + (cost.tier2 or 0) + cost.tier3


def _budget(report: CostReport | None) -> Markup | None:
    if report is None:
        return None
    return facts(
        [
            ("Every prompt", f"{report.catalogue:,} tokens for {report.listed} listed skills"),
            ("Left to search", f"{report.unlisted:,} skills" if report.unlisted else ""),
            ("All instructions", f"{report.static:,} tokens, if they were all in the prompt"),
            ("Counted by", report.counter),
        ]
    )


def _problems(diagnostics: tuple[Diagnostic, ...]) -> Markup | None:
    shown = [found for found in diagnostics if found.severity is not Severity.INFO]
    if not shown:
        return None
    rows = [
        [badge(found.severity.value, "bad" if found.severity is Severity.ERROR else "warn"), found.code,
         found.message, tag("span", f"{found.path}:{found.line or ''}", class_="mono")]
        for found in shown[:500]
    ]  # fmt: skip
    return section(
        f"Problems ({len(shown)})", table(("Severity", "Code", "What is wrong", "Where"), rows, "Problems")
    )
