"""One request: every skill's score and why, and the prompt that would go out."""

import json
from collections.abc import Mapping

from skillkit.disclosure import Disclosure, SkillSession
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.inspector.layout import page
from skillkit.inspector.library import Library
from skillkit.inspector.pages.skills import address, state
from skillkit.matching import Match, MatchResult
from skillkit.matching.settings import Mode
from skillkit.web.html import Markup, bar, link, table, tag
from skillkit.web.layout import badge, choice, legend, nothing, section

MAX_REQUEST = 8_192
MAX_ROWS = 200


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the page, or only what changes while somebody types."""
    text = query.get("q", "")[:MAX_REQUEST]
    modes = [mode for name in ("mode", "beside") for mode in Mode if mode.value == query.get(name)]
    result = _result(library, text, modes)
    if query.get("part") == "result":
        return result
    return page(
        "Request",
        "/request",
        _form(text, modes),
        tag("div", result, id="result", aria_live="polite"),
    )


def _form(text: str, modes: list[Mode]) -> Markup:
    return tag(
        "form",
        tag(
            "label",
            "What a user might ask",
            tag("input", name="q", value=text, autocomplete="off", maxlength=MAX_REQUEST),
        ),
        tag("label", "Matching", _choice("mode", modes[:1], "as set up"), class_="short"),
        tag("label", "Beside it", _choice("beside", modes[1:], "nothing"), class_="short"),
        tag("button", "Show", type="submit"),
        action="/request",
        method="get",
        data_result="result",
    )


def _choice(name: str, chosen: list[Mode], otherwise: str) -> Markup:
    modes = {mode.value: mode.value for mode in Mode}
    return choice(name, modes, chosen[0].value if chosen else "", otherwise)


def _result(library: Library, text: str, modes: list[Mode]) -> Markup:
    if not text.strip():
        return nothing("Type a request: each skill's score appears with the words that made it.")
    columns = [_column(library, text, mode) for mode in modes or (None,)]
    return columns[0] if len(columns) == 1 else tag("div", columns, class_="columns")


def _column(library: Library, text: str, mode: Mode | None) -> Markup:
    """Return the scores and the prompt that one setting leads to."""
    try:
        disclosed = library.provider(mode).disclose(text, SkillSession())
        return tag("div", _scores(library, text, mode), _prompt(disclosed, text, library.system))
    except ImportError as error:
        name = mode.value if mode else "as set up"
        return section(f"Scores ({name})", nothing(f"This mode is not installed: {error}"))


def _scores(library: Library, text: str, mode: Mode | None = None) -> Markup:
    matcher = library.matcher(mode)
    explained = matcher.explain(text)
    ranked = matcher.rank(text, MAX_ROWS)
    taken = {match.skill.base_dir for match in explained.matches}
    found = [
        (match, _verdict(match, match.skill.base_dir in taken, explained))
        for match in ranked
        if match.score > 0
    ]
    found += [(match, state(status)) for match, status in library.refused(text, mode, MAX_ROWS)]
    rows = [_row(*one) for one in sorted(found, key=lambda one: -one[0].score)]
    return section(
        f"Scores ({matcher.mode.value})",
        tag("p", explained.explanation),
        table(("Skill", "Score", "Verdict", "Because of"), rows, f"Scores, {matcher.mode.value}")
        if rows
        else nothing("No skill is near."),
        tag(
            "p",
            f"{len(library.manager.list_skills()) - len(rows):,} more skills have no word in common.",
            class_="faint",
        ),
    )


def _verdict(match: Match, taken: bool, explained: MatchResult) -> Markup:
    if taken:
        return badge("matched", "good")
    return badge("below the line") if match.score < explained.threshold else badge("left out", "warn")


def _row(match: Match, verdict: Markup) -> list[object]:
    return [
        link(address(match.skill.name), match.skill.name),
        [bar((("score", match.score),), 1.0, f"score {match.score:.2f}"), f"{match.score:.2f}"],
        verdict,
        ", ".join(match.reasons),
    ]


def _prompt(disclosure: Disclosure, request: str, system: str) -> Markup:
    """Return what would go out, in its order and coloured by origin, with what skills add to it."""
    tokens, count_tokens = disclosure.tokens, TokenEstimator().count
    schemas = [tool.definition for tool in disclosure.tools]
    tools = json.dumps(schemas, indent=1, ensure_ascii=False) if schemas else ""
    matched = "\n\n".join(insertion.text for insertion in disclosure.insertions if insertion.kept)
    parts = (
        ("tools", "Tool schemas", tools, tokens.tools),
        ("system", "System prompt: the program's own words", system, count_tokens(system)),
        ("catalogue", "System prompt, after that: the skills there are", disclosure.instructions,
         tokens.catalogue),
        ("messages", "The user's message, after those before it", request, count_tokens(request)),
        ("skills", "After it, and kept: instructions of the skills that matched", matched, tokens.skills),
        ("note", "Last, for this request alone: the skills near it", disclosure.note, tokens.note),
    )  # fmt: skip
    counted = [(kind, count) for kind, _, _, count in parts]
    whole = sum(count for _, count in counted)
    blocks = [
        tag(
            "details",
            tag("summary", f"{title}: {count:,} tokens"),
            tag("pre", text, class_=kind),
            open=kind not in ("tools", "system"),
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
