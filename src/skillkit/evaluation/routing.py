"""The routing tier: requests that should match a skill, requests that must not, and wrong matches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.evaluation.cases import Case, Routing
from skillkit.evaluation.report import CaseOutcome, Result, Tier
from skillkit.matching import Match, SkillMatcher

DEEP = 10


@dataclass(frozen=True, slots=True)
class RoutedCase:
    """A request with its skill, as routed in a library."""

    case: Case
    skill: str
    """Canonical name; empty for a request without a skill."""
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]
    suite: str = ""

    @property
    def request(self) -> str:
        return self.case.prompts[0]

    @property
    def implied(self) -> bool:
        return self.case.routing is not None and self.case.routing.implied

    def renamed(self, names: Mapping[str, str]) -> "RoutedCase":
        """Return the same case with its skills renamed."""
        skill, *others = (names.get(name, name) for name in (self.skill, *self.wanted, *self.unwanted))
        wanted, unwanted = others[: len(self.wanted)], others[len(self.wanted) :]
        return replace(self, skill=skill, wanted=tuple(wanted), unwanted=tuple(unwanted))


def routed_cases(cases: Iterable[Case], skill: str | None, suite: Path | str = "") -> list[RoutedCase]:
    """Return the cases that name the expected skill; an empty name means `skill`."""
    found = []
    for case in cases:
        if case.routing is None or not case.prompts:
            continue
        names = _resolved(case.routing, skill or case.skill)
        if names is not None:
            about = (*names[0], *names[1], case.skill or skill or "")[0]
            found.append(RoutedCase(case, canonical(about), *names, str(suite)))
    return found


def canonical(name: str) -> str:
    """Return a skill's own name, without the library before a slash or colon and a remark after it."""
    return canonical_name(name.partition(" (")[0].replace(":", "/").rsplit("/", 1)[-1])


def _resolved(routing: Routing, skill: str | None) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    sides = []
    for names in (routing.wanted, routing.unwanted):
        if "" in names and not skill:
            return None
        sides.append(tuple(dict.fromkeys(canonical(name or skill or "") for name in names)))
    return sides[0], sides[1]


def metrics(results: Sequence[Result]) -> dict[str, object]:
    """Return precision, recall and ranks over the results of this tier, None if undefined."""
    asked = [result for result in results if result.outcome is not CaseOutcome.SKIPPED]
    wanted = [result for result in asked if result.data.get("wanted")]
    unwanted = [result for result in asked if not result.data.get("wanted")]
    matched = [bool(result.data.get("matched")) for result in wanted]
    fired = [bool(result.data.get("fired")) for result in asked]
    false = [bool(result.data.get("fired")) for result in unwanted]
    ranks = [rank if isinstance(rank := result.data.get("rank"), int) else None for result in wanted]
    hits, wrong = sum(matched), sum(fired)
    return {
        "cases": len(asked),
        "precision": round(hits / (hits + wrong), 4) if hits + wrong else None,
        "recall": _share(matched),
        "recall_at_1": _share([rank == 0 for rank in ranks]),
        "recall_at_3": _share([rank is not None and rank < 3 for rank in ranks]),
        "mrr": _share([0.0 if rank is None else 1 / (rank + 1) for rank in ranks]),
        "false_positives": _share(false),
    }


def route(matcher: SkillMatcher, case: RoutedCase) -> Result:
    """Route a request in the library of `matcher`."""
    known = {skill.canonical_name for skill in matcher.skills}
    missing = [name for name in case.wanted if name not in known]
    if case.wanted and len(missing) == len(case.wanted):
        message = f"There is no skill {' or '.join(missing)} in the library"
        return _made(case, CaseOutcome.SKIPPED, message, {})
    explained = matcher.explain(case.request)
    matches = list(explained.matches)
    # Without declared unwanted skills, a case that expects no skill forbids every known one.
    wrong = case.unwanted or ([] if case.wanted else known)
    fired = [match for match in matches if match.skill.canonical_name in wrong]
    data: dict[str, object] = {
        "request": case.request,
        "library": "",  # a field of version 1
        "wanted": list(case.wanted),
        "unwanted": list(case.unwanted),
        "implied": case.implied,
        "threshold": explained.threshold,
        "found": [
            {"skill": match.skill.name, "score": match.score, "reasons": list(match.reasons)}
            for match in (*matches, *explained.cut, *explained.near)[:5]
        ],
        "fired": [match.skill.name for match in fired],
    }
    own = next((match for match in matches if match.skill.canonical_name in case.wanted), None)
    if case.wanted:
        rank, nearest = _rank(matcher, case, matches)
        data |= {"matched": own is not None, "rank": rank}
        if own is None:
            return _made(case, _severity(case), _missed(case, matches, nearest), data)
    if fired:
        message = f"{_shown(fired[0])} matched{_because(fired[0])} and should not have"
        if len(known) > 1:
            return _made(case, _severity(case), message, data)
        alone = f"{message}: no other skill competes, and skillkit's {matcher.mode.value} matcher decides by"
        return _made(case, CaseOutcome.WARNED, f"{alone} words, not a model", data)
    if own is not None and matches[0] is not own:
        return _made(case, CaseOutcome.WARNED, f"matched, but behind {_shown(matches[0])}", data)
    return _made(case, CaseOutcome.PASSED, "", data)


def _severity(case: RoutedCase) -> CaseOutcome:
    """Return the outcome of a failed case: for an implied request only a warning, as users may name the
    skill."""
    return CaseOutcome.WARNED if case.implied else CaseOutcome.FAILED


def _made(case: RoutedCase, outcome: CaseOutcome, message: str, data: Mapping[str, object]) -> Result:
    title = case.case.name or case.request[:80]
    return Result(
        Tier.ROUTING, case.skill, case.case.id, outcome, title, message, suite=case.suite, data=data
    )


def _rank(matcher: SkillMatcher, case: RoutedCase, matches: list[Match]) -> tuple[int | None, Match | None]:
    """Return the rank of the wanted skill, among the matches or below, and its match."""
    for number, match in enumerate(matches):
        if match.skill.canonical_name in case.wanted:
            return number, match
    for number, match in enumerate(matcher.rank(case.request, DEEP)):  # slow, so only after a miss
        if match.skill.canonical_name in case.wanted:
            return number, match
    return None, None


def _missed(case: RoutedCase, matches: list[Match], own: Match | None) -> str:
    name = " or ".join(case.wanted)
    if own is None:
        text = f"{name} shares no word with the request"
    else:
        text = f"{name} reaches {own.score:.2f}{_because(own)}"
    return (
        f"{text}; {_shown(matches[0])} won{_because(matches[0])}" if matches else f"{text}; nothing matched"
    )


def _because(match: Match) -> str:
    return f" ({'; '.join(match.reasons[:2])})" if match.reasons else ""


def _shown(match: Match) -> str:
    return f"{match.skill.name} ({match.score:.2f})"


def _share(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def library_of(skills: Iterable[SkillMetadata]) -> list[SkillMetadata]:
    """Return the skills with unique names, the first of each."""
    found: dict[str, SkillMetadata] = {}
    for skill in skills:
        found.setdefault(skill.canonical_name, skill)
    return list(found.values())
