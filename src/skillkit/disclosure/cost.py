"""Token cost of skills by tier, compared with putting all of them into every prompt."""

from dataclasses import dataclass

from skillkit.core.codec import encode
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.resources import Resource
from skillkit.disclosure.catalogue import (
    CatalogueStyle,
    entry_tokens,
    render_catalogue,
    skill_id,
)
from skillkit.disclosure.tokens import TokenCounter, TokenEstimator

_SAMPLE = 256 * 1024


@dataclass(frozen=True, slots=True)
class SkillCost:
    """Token counts of one skill."""

    id: str
    tier1: int
    """Its line in the catalogue."""
    tier2: int | None
    """Its instructions; None if unreadable."""
    tier3: int
    """All of its text files together."""
    files: int
    offered: bool
    """Whether the skill is offered to models."""


@dataclass(frozen=True, slots=True)
class CostReport:
    """Token counts of all skills."""

    skills: tuple[SkillCost, ...]
    """Every known skill, largest instructions first."""
    catalogue: int
    """Cost of every request: the catalogue under its budget."""
    budget: int
    listed: int
    shortened: int
    """Listed skills whose description the budget truncated or omitted."""
    unlisted: int
    """Offered skills that are found only with `search_skills`."""
    static: int
    """Cost of every request with the instructions of all offered skills in the prompt."""
    counter: str
    """The token counter: `estimate` or the name of a vocabulary."""

    @property
    def saved(self) -> float:
        """Share of `static` saved by a request without skills; negative if it costs more."""
        return 1 - self.catalogue / self.static if self.static else 0.0

    def to_data(self) -> dict[str, object]:
        """Return the report as data for `json.dumps`."""
        return {**encode(self), "saved": round(self.saved, 4)}


def cost_report(
    manager: SkillManager,
    *,
    budget: int | None = None,
    style: CatalogueStyle | str = CatalogueStyle.COMPACT,
    counter: TokenCounter | None = None,
) -> CostReport:
    """Read and count all skills once. Only the first 256 KiB of a file are counted."""
    counter = counter or TokenEstimator()
    manager.ensure_discovered()
    offered = manager.offered_skills()
    ids = {skill_id(skill) for skill in offered}
    catalogue = render_catalogue(offered, budget=budget, style=style, counter=counter)
    skills = [_cost(manager, skill, skill_id(skill) in ids, counter) for skill in manager.list_skills()]
    return CostReport(
        skills=tuple(sorted(skills, key=lambda skill: (-(skill.tier2 or 0), skill.id))),
        catalogue=catalogue.tokens,
        budget=CatalogueStyle(style).budget if budget is None else budget,
        listed=catalogue.listed,
        shortened=catalogue.shortened,
        unlisted=catalogue.unlisted,
        static=sum(skill.tier2 or 0 for skill in skills if skill.offered),
        counter=counter.name,
    )


def _cost(manager: SkillManager, skill: SkillMetadata, offered: bool, counter: TokenCounter) -> SkillCost:
    name = skill_id(skill)
    resources: list[Resource] = []
    tier2: int | None = None
    try:
        tier2 = counter.count(manager.invoke_skill(name))
        resources = manager.list_resources(name)
    except SkillsUseError:
        pass  # the skill is reported as unreadable; the others are still counted
    return SkillCost(
        id=name,
        tier1=entry_tokens(skill, counter),
        tier2=tier2,
        tier3=sum(_file_tokens(manager, name, resource, counter) for resource in resources),
        files=len(resources),
        offered=offered,
    )


def _file_tokens(manager: SkillManager, name: str, resource: Resource, counter: TokenCounter) -> int:
    try:
        page = manager.read_resource(name, resource.path, 0, _SAMPLE)
    except SkillsUseError:
        return 0
    if not page.text:
        return 0
    share = max(1.0, page.size / _SAMPLE)
    return round(counter.count(page.text) * share)
