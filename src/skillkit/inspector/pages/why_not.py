"""Why a skill was not taken: answered from the journal, as it was when the request came."""

from collections.abc import Mapping, Sequence

from skillkit.core.events import Event, Json, Kind, entries_of
from skillkit.core.names import canonical_name
from skillkit.inspector.pages.events import REFUSALS, figure
from skillkit.journal import JournalReader
from skillkit.web.html import Markup, tag

_PLACES = (
    ("matched", "It matched"),
    ("left_out", "It matched and the limit left it out"),
    ("near", "It came near, below the threshold"),
)


def why_not(journal: JournalReader, wanted: str, events: Sequence[Event]) -> Markup:
    """Return the outcome of one skill in one turn."""
    matched = [event for event in events if event.kind is Kind.MATCHED]
    if not matched:
        return tag("p", "No request was compared with the skills in this turn.", class_="faint")
    return tag("p", _answer(journal, wanted, matched), class_="notice")


def _answer(journal: JournalReader, wanted: str, matched: Sequence[Event]) -> str:
    identity = canonical_name(wanted)
    for event in matched:
        for place, words in _PLACES:
            for one in entries_of(event.data.get(place)):
                if one.get("id") == identity:
                    line = event.data.get("line")
                    behind = place == "near" and _reached(one, line)
                    why = "It reached the threshold and another skill was clearly ahead" if behind else words
                    return f"{why}: {_score(one, line)}."
    return _not_listed(journal, identity, matched[-1])


def _not_listed(journal: JournalReader, identity: str, event: Event) -> str:
    """Return why a skill is not among the nearest: whether it was on offer."""
    offered = journal.offer(event.digest) if event.digest else []
    for one in offered:
        if identity in _texts(one.data.get("ids")):
            return f"It was on offer then. {_behind(event.data)}"
        refused = one.data.get("refused")
        if isinstance(refused, Mapping) and identity in refused:
            code = str(refused[identity])
            return f"It was not on offer then: {REFUSALS.get(code, code)}."
    if offered:
        return f"No skill '{identity}' was known then, among {offered[0].data.get('count', '?')} on offer."
    return (
        f"'{identity}' had less in common with this request than the skills that are listed, "
        "or was not on offer then: the journal does not tell which."
    )


def _behind(data: Mapping[str, Json]) -> str:
    scores = [
        score
        for place, _ in _PLACES
        for one in entries_of(data.get(place))
        if isinstance(score := one.get("score"), int | float)
    ]
    if not scores:
        return "Neither it nor any other skill had something in common with this request."
    return (
        f"It had less in common with this request than those listed, the last of which had {min(scores):.2f}."
    )


def _reached(one: Mapping[str, Json], line: Json) -> bool:
    score = one.get("score")
    return isinstance(score, int | float) and isinstance(line, int | float) and score >= line


def _score(one: Mapping[str, Json], line: Json) -> str:
    reasons = one.get("reasons")
    because = f": {', '.join(map(str, reasons))}" if isinstance(reasons, list) and reasons else ""
    needed = "an unknown threshold" if line is None else figure(line)
    return f"{figure(one.get('score'))} where {needed} is needed{because}"


def _texts(found: Json) -> frozenset[str]:
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()
