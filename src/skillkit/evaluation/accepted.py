"""evals/accepted.json: findings that the author accepts, each with the reason."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.core.foreign_json import read_json
from skillkit.evaluation.report import BAD, CaseOutcome, Problem, Result, headline

ACCEPTED = "evals/accepted.json"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One entry of the list."""

    id: str
    """Name of the rule or case in the report."""
    contains: str
    """A substring of the problem's text; empty accepts all findings of the rule or case."""
    reason: str


def read_accepted(folder: Path) -> tuple[list[Acceptance], str]:
    """Return a skill's list, and the error message of an invalid file."""
    path = folder / ACCEPTED
    if not path.is_file():
        return [], ""
    try:
        entries = read_json(path)
    except (OSError, ValueError) as error:
        return [], f"{ACCEPTED} cannot be read: {error}"
    found = []
    for entry in entries if isinstance(entries, list) else [None]:
        given = entry if isinstance(entry, dict) else {}
        if not (given.get("id") and given.get("reason")):
            return [], f'{ACCEPTED} must be a list of {{"id": …, "contains": …, "reason": …}}'
        found.append(Acceptance(str(given["id"]), str(given.get("contains") or ""), str(given["reason"])))
    return found, ""


def accept(
    results: Iterable[Result], accepted: Sequence[Acceptance], skill: str
) -> tuple[list[Result], list[str]]:
    """Return the results with the accepted findings of a skill as warnings, and one line per stale entry."""
    used: set[Acceptance] = set()
    kept, seen = [], set[str]()
    for result in results:
        own = [each for each in accepted if each.id == result.id and result.skill == skill]
        seen.update(each.id for each in own)
        kept.append(_accepted(result, own, used))
    stale = [each for each in accepted if each.id in seen and each not in used]
    return kept, [f"{ACCEPTED}: {each.id} matches no finding any more: {each.reason}" for each in stale]


def _accepted(result: Result, entries: Sequence[Acceptance], used: set[Acceptance]) -> Result:
    if not entries or result.outcome not in BAD | {CaseOutcome.WARNED}:
        return result
    problems = []
    for problem in result.problems or (Problem(result.message),):
        entry = next((each for each in entries if each.contains in str(problem)), None)
        if entry is None:
            problems.append(problem)
            continue
        used.add(entry)
        message = f"accepted ({entry.reason}): {problem.message}"
        problems.append(replace(problem, message=message, warning=True))
    outcome = CaseOutcome.WARNED if all(each.warning for each in problems) else result.outcome
    kept = tuple(problems) if result.problems else ()
    return replace(result, outcome=outcome, message=headline(problems), problems=kept)
