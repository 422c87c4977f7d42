"""One request: every known skill's score, why it is used or not, and the prompt that would go out."""

import json
from collections.abc import Mapping
from urllib.parse import urlencode

from skillkit.core.names import canonical_name
from skillkit.core.text import count_of
from skillkit.disclosure import Disclosure, SkillSession
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.inspector.layout import known_names, page, skill_link, skill_names, state
from skillkit.inspector.library import Library
from skillkit.inspector.scoring import AS_IT_IS, Assumption
from skillkit.install.enabled import SkillStatus
from skillkit.matching import Match
from skillkit.matching.settings import Mode
from skillkit.web.charts import bar
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, choice, field, legend, nothing, search, section

MAX_REQUEST = 8_192
MAX_ROWS = 60
_NOT_ASKED = (
    "Type a request, such as “Turn this CSV into a report”: every known skill gets a score, "
    "with the words that made it and why it is used or not."
)


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the page, or only what changes while somebody types."""
    text = query.get("q", "")[:MAX_REQUEST]
    assumed = _assumed(query)
    result = _result(library, text, assumed)
    if query.get("part") == "result":
        return result
    return page(
        "Request",
        "/request",
        _form(library, text, assumed),
        tag("div", result, id="result", data_searched=True),
    )


def _assumed(query: Mapping[str, str]) -> Assumption:
    mode = next((mode for mode in Mode if mode.value == query.get("mode")), None)
    try:
        line = float(query.get("threshold", ""))
    except ValueError:
        line = 0.0
    return Assumption(mode, line if 0 < line < 1 else None, canonical_name(query.get("active", "")[:128]))


def _form(library: Library, text: str, assumed: Assumption) -> Markup:
    usual = library.matcher()
    modes = choice(
        "mode",
        {mode.value: mode.value for mode in Mode},
        assumed.mode.value if assumed.mode else "",
        f"{usual.mode.value} (now)",
    )
    line = f"{assumed.threshold:g}" if assumed.threshold else ""
    usually = f"{usual.threshold:.2f} (now)"
    number = {"type": "number", "min": "0.01", "max": "0.99", "step": "0.01"}
    name = {"placeholder": "name of a skill", "list": "names"}
    return search(
        "/request",
        "Explain",
        field("What would you ask?", "q", text, maxlength=MAX_REQUEST),
        tag("label", "What if: mode", modes, class_="short"),
        field("What if: threshold", "threshold", line, short=True, placeholder=usually, **number),
        field("What if: also active", "active", assumed.active, short=True, **name),
        known_names(library.snapshot().skills),
        data_result="result",
    )


def _result(library: Library, text: str, assumed: Assumption) -> Markup:
    if not text.strip():
        return nothing(_NOT_ASKED)
    try:
        disclosed = library.provider(assumed).disclose(text, SkillSession())
        found = _found(library, text, disclosed, assumed)
    except ImportError as error:
        name = assumed.mode.value if assumed.mode else "that is configured"
        return nothing(f"The mode {name} is not installed: {error}")
    unknown = assumed.active and library.manager.find_skill(assumed.active) is None
    return tag(
        "div",
        tag("p", f"What if: no skill is called “{assumed.active}”.", class_="notice") if unknown else None,
        _answer(disclosed, library, text, assumed),
        _compared(library, text, disclosed) if assumed != AS_IT_IS and not unknown else None,
        _scores(library, text, found, assumed),
        _prompt(disclosed, text, library.system),
    )


Found = list[tuple[Match, SkillStatus | None, Markup]]
"""A scored skill with its refusal, if any, and outcome."""


def _found(library: Library, text: str, disclosed: Disclosure, assumed: Assumption) -> Found:
    matcher = library.matcher(assumed)
    taken = {match.skill.skill_path for match in disclosed.matched}
    left_out = {match.skill.skill_path for match in disclosed.left_out}
    found: Found = []
    for match in matcher.rank(text, MAX_ROWS):
        if match.skill.skill_path in taken:
            verdict = badge("put in", "good")
        elif match.skill.skill_path in left_out:
            verdict = badge("left out by the limit", "warn")
        elif match.score >= matcher.threshold:
            hidden = match.skill.disable_model_invocation
            verdict = badge("only by its name" if hidden else "another one is ahead")
        else:
            verdict = badge("below the threshold")
        if match.score > 0:
            found.append((match, None, verdict))
    active = assumed.active
    found += [
        (match, status, state(status, manage=library.manage))
        for match, status in library.refused(text, MAX_ROWS, assumed)
        if match.skill.canonical_name != active
    ]
    return sorted(found, key=lambda one: -one[0].score)[:MAX_ROWS]


def _answer(disclosed: Disclosure, library: Library, text: str, assumed: Assumption) -> Markup:
    """Return a sentence about the skills used, and a better match that may not be used."""
    names = skill_names([match.skill.name for match in disclosed.matched])
    used: list[object] = ["No skill is put into the prompt."]
    if disclosed.matched:
        used = ["Put into the prompt: ", names, "."]
    missed = [one for one in library.missed(text, assumed) if one.skill.canonical_name != assumed.active]
    if not missed:
        return tag("p", used, class_="notice calm", role="status")
    match = missed[0]
    status = library.snapshot().checks.judge(match.skill)
    fits = [skill_link(match.skill.name), f" fits ({match.score:.2f}) and is not used: "]
    return tag(
        "p", used, " ", fits, state(status, manage=library.manage), class_="notice calm", role="status"
    )


def _compared(library: Library, text: str, disclosed: Disclosure) -> Markup:
    """Return the skills put in without the assumption."""
    usual = library.provider().disclose(text, SkillSession())
    now, before = (
        ", ".join(match.skill.name for match in one.matched) or "no skill" for one in (disclosed, usual)
    )
    same = f"What if: nothing changes, {now} is put in."
    return tag(
        "p",
        same if now == before else f"What if: {now} is put in instead of {before}.",
        class_="notice",
    )


def _scores(library: Library, text: str, found: Found, assumed: Assumption) -> Markup:
    matcher = library.matcher(assumed)
    rows = [
        [
            skill_link(match.skill.name),
            _score(match.score, matcher.threshold),
            verdict,
            [", ".join(match.reasons), _what_if(match, status, text)],
        ]
        for match, status, verdict in found
    ]
    rest = len(library.manager.list_skills()) - len(rows)
    scores = "score 0" if len(rows) < MAX_ROWS else "a lower score"
    beside = (
        "An inactive skill is scored among all known skills; “What if” scores it among the active ones, "
        "so the two can differ."
    )
    return section(
        f"Scores ({matcher.mode.value}, threshold {matcher.threshold:.2f})",
        table(("Skill", "Score", "Result", "Why"), rows, f"Scores, {matcher.mode.value}")
        if rows
        else nothing("No known skill has a word in common with this request."),
        tag("p", f"Not in the table: {count_of(rest, 'skill')} with {scores}.", class_="faint small")
        if rest
        else None,
        tag("p", beside, class_="faint small") if any(status for _, status, _ in found) else None,
    )


def _score(score: float, line: float) -> list[object]:
    kind = "part" if score >= line else "low"
    return [f"{score:.2f}", bar(((kind, score),), 1.0, f"score {score:.2f}, threshold {line:.2f}", line)]


def _what_if(match: Match, status: SkillStatus | None, text: str) -> Markup | None:
    """Return the link that tries the request with a skill that may not be used."""
    if status is None or status.refusal is None or status.refusal.code == "unavailable":
        return None
    query = urlencode({"q": text, "active": match.skill.canonical_name})
    return tag("div", link(f"/request?{query}", "What if it were active?"), class_="small")


def _prompt(disclosure: Disclosure, request: str, system: str) -> Markup:
    """Return what would go out, in its order and coloured by origin, with what skills add to it."""
    tokens, count_tokens = disclosure.tokens, TokenEstimator().count
    schemas = [tool.definition for tool in disclosure.tools]
    tools = json.dumps(schemas, indent=1, ensure_ascii=False) if schemas else ""
    matched = "\n\n".join(insertion.text for insertion in disclosure.insertions if insertion.kept)
    parts = (
        ("tools", "Tool schemas", tools, tokens.tools),
        ("system", "System prompt: the program's own text", system, count_tokens(system)),
        ("catalogue", "System prompt, after that: the list of skills", disclosure.instructions,
         tokens.catalogue),
        ("messages", "The user's message, after those before it", request, count_tokens(request)),
        ("skills", "After the message: instructions of the skills that matched", matched, tokens.skills),
        ("note", "Last, for this request alone: the skills near it", disclosure.note, tokens.note),
    )  # fmt: skip
    counted = [(kind, count) for kind, _, _, count in parts]
    whole = sum(count for _, count in counted)
    blocks = [
        tag(
            "details",
            tag("summary", f"{title}: {count:,} tokens"),
            tag("pre", text, class_=kind),
            id=f"part-{kind}",
            open=kind in ("messages", "skills", "note"),
        )
        for kind, title, text, count in parts
        if text
    ]
    left_out = [f"{match.skill.name} matched and was left out" for match in disclosure.left_out]
    notes = [tag("li", note) for note in (*left_out, *disclosure.notes)]
    return section(
        f"The prompt: {whole:,} tokens, {tokens.total:,} of them from skills",
        bar(counted, max(whole, 1), f"{whole:,} tokens"),
        legend((kind, f"{kind} {count:,}") for kind, count in counted if count),
        tag("p", "Files of skills are not in it: the model reads them when it needs them.", class_="faint"),
        blocks,
        tag("ul", notes) if notes else None,
    )
