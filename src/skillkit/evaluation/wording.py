"""Which words in a description would have turned a miss, tried on every other case."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.report import BAD, CaseOutcome, Result
from skillkit.evaluation.routing import RoutedCase, run_routing
from skillkit.matching.matcher import SkillMatcher
from skillkit.matching.terms import terms

MOST_SKILLS = 10
MOST_INDEXED = 1000
"""Skills that may be indexed again, over all that is tried: each wording makes a new index of the library."""
MOST_WORDS = 4
MOST_CASES = 2000
LONGEST_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class Wording:
    """A change of a description, and what it does to all cases."""

    skill: str
    description: str
    added: tuple[str, ...]
    gained: tuple[str, ...]
    """Cases that pass with it and did not before."""
    lost: tuple[str, ...]
    """Cases that no longer pass."""


def suggest_wordings(
    matcher: SkillMatcher, cases: Sequence[RoutedCase], results: Sequence[Result]
) -> list[Wording]:
    """The best wording for each skill that misses requests; none where none gains more than it loses."""
    if len(cases) > MOST_CASES:
        return []
    missed: dict[str, list[RoutedCase]] = {}
    for case, result in zip(cases, results, strict=True):
        if case.wanted and result.data.get("matched") is False:
            missed.setdefault(case.wanted[0], []).append(case)
    skills = {skill.canonical_name: skill for skill in matcher.skills}
    most = max(1, min(MOST_SKILLS, MOST_INDEXED // max(1, len(skills))))
    found = []
    for name in sorted(missed, key=lambda each: -len(missed[each]))[:most]:
        best = _best(matcher, skills[name], cases, results, missed[name])
        if best is not None:
            found.append(best)
    return found


def _best(
    matcher: SkillMatcher,
    skill: SkillMetadata,
    cases: Sequence[RoutedCase],
    before: Sequence[Result],
    missed: Sequence[RoutedCase],
) -> Wording | None:
    tried: list[tuple[int, list[str], SkillMetadata]] = []
    try:
        for words in _candidates(skill, missed):
            description = _with(skill.description, words)
            if len(description) <= LONGEST_DESCRIPTION:
                changed = replace(skill, description=description)
                matcher.add(changed)
                turned = sum(result.data.get("matched") is True for result in run_routing(matcher, missed))
                tried.append((turned, words, changed))
        turned, words, changed = max(tried, key=lambda each: each[0], default=(0, [], skill))
        if not turned:
            return None
        matcher.add(changed)
        concerned = [
            (case, result)
            for case, result in zip(cases, before, strict=True)
            if _is_concerned(case, result, skill, words)
        ]
        after = run_routing(matcher, [case for case, _ in concerned])
    finally:
        matcher.add(skill)
    pairs = [(old, new) for (_, old), new in zip(concerned, after, strict=True)]
    gained = [new.id for old, new in pairs if _improved(old, new)]
    lost = [new.id for old, new in pairs if _improved(new, old)]
    if len(gained) <= len(lost):
        return None
    return Wording(skill.name, changed.description, tuple(words), tuple(gained), tuple(lost))


def _is_concerned(case: RoutedCase, result: Result, skill: SkillMetadata, words: Sequence[str]) -> bool:
    """Whether a change of this description can change the case: by its skill or its words."""
    name = skill.canonical_name
    if name in case.wanted or name in case.unwanted:
        return True
    found = result.data.get("found")
    if any(each["skill"] == skill.name for each in (found if isinstance(found, list) else ())):
        return True
    return not set(terms(" ".join(words))).isdisjoint(terms(case.request))


def _candidates(skill: SkillMetadata, missed: Sequence[RoutedCase]) -> Iterator[list[str]]:
    """The words of the missed requests that the description lacks: the commonest, then by request."""
    has = set(terms(f"{skill.name.replace('-', ' ')} {skill.description}"))
    by_case = []
    for case in missed:
        words: dict[str, str] = {}
        for word in case.request.split():
            plain = word.strip(" .,;:!?\"'`“”‘’()[]{}<>")
            new = [term for term in terms(plain) if term not in has]
            if new and len(plain) > 2 and plain.isascii() == case.request.isascii():
                words.setdefault(new[0], plain)
        by_case.append(list(words.values()))
    counted = Counter(word for found in by_case for word in found)
    common = [word for word, _ in counted.most_common(2 * MOST_WORDS)]
    if common:
        yield common[:MOST_WORDS]
        yield common
    yield from (words[:MOST_WORDS] for words in by_case[:4] if words)


def _with(description: str, words: Sequence[str]) -> str:
    return f"{description.rstrip()} Also for: {', '.join(words)}."


def _improved(old: Result, new: Result) -> bool:
    def bad(result: Result) -> bool:
        return result.outcome in BAD or (
            result.outcome is CaseOutcome.WARNED and result.data.get("matched") is False
        )

    return bad(old) and not bad(new)
