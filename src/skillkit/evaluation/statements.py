"""Sentences about an answer, made into checks where their words leave no doubt."""

import re

from skillkit.evaluation.cases import Check, CheckKind

_LONGEST = 600
_QUOTE = r"(?:`{q}`|\"{q}\"|“{q}”|‘{q}’|(?<!\w)'{q}'(?!\w))"
_LITERAL = _QUOTE.replace("{q}", r"[^`\"“”‘’\n]{1,200}?")
_QUOTED = re.compile(
    r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|‘([^’\n]{1,200})’|'([^'\n]{1,200})'"
)
_SUBJECT = (
    r"(?:the\s+|an?\s+)?(?:final\s+|generated\s+|agent'?s?\s+|model'?s?\s+)?"
    r"(?:output|response|answer|reply|report|result|text|message|summary|it|agent|assistant|model)?"
    r"\s*(?:explicitly\s+|clearly\s+|also\s+|should\s+|must\s+|shall\s+)*"
)
_NOUN = r"(?:(?!(?:not|no|nothing|none|neither|without|instead|rather|than|or|nor)\b)[\w-]+\s+){0,3}"
"""Up to three words between the verb and the literal, none of which turns the meaning."""
_SAY = (
    r"(?:contains?|includes?|mentions?|says?|states?|has|have|quotes?|references?|names?|uses?|use|shows?)\s+"
    rf"{_NOUN}(?:[\w-]+:\s*)?"
)
_LIST = rf"(?P<list>{_LITERAL}(?:\s*(?:,\s*(?:and\s+|or\s+)?|and\s+|or\s+){_LITERAL})*)"
_END = r"\s*(?:somewhere|in (?:the|its) (?:output|response|answer|reply|text))?\s*\.?$"
_CONTAINS = re.compile(rf"^{_SUBJECT}{_SAY}{_LIST}{_END}", re.IGNORECASE)
_LIST2 = _LIST.replace("<list>", "<list2>")
_NOT = r"(?:(?:does|do|did|must|should|shall|may|can)(?:\s+not|n't)|never|doesn't|don't)"
_NO_MENTION = r"(?:no mention of|never mentions?|avoids?)\s+(?:the\s+)?(?:word|phrase|term)?s?"
_EXCLUDES = re.compile(
    rf"^{_SUBJECT}{_NOT}\s+{_SAY}{_LIST}{_END}|^{_NO_MENTION}\s*{_LIST2}{_END}", re.IGNORECASE
)
_PATTERN = r"(?:regex|regexp|regular expression|pattern)"
_MATCHES = re.compile(
    rf"^{_SUBJECT}matche?s?\s+(?:the\s+)?{_PATTERN}\s*:?\s*(?P<list>{_LITERAL}){_END}", re.IGNORECASE
)
_FILE = r"[`\"“']?[\w./*-]+\.[A-Za-z0-9]{1,8}[`\"”']?"
_A_FILE = r"(?:the\s+|an?\s+)?(?:output\s+)?file\s+(?:named\s+|called\s+)?"
_IS_THERE = r"\s+(?:exists|is created|was created|is written)"
_MAKES = r"(?:the\s+agent\s+|it\s+)?(?:creates?|writes?|produces?|saves?|generates?)\s+"
_FILE_EXISTS = re.compile(
    rf"^(?:(?:{_A_FILE})?(?P<path>{_FILE}){_IS_THERE}|{_MAKES}{_A_FILE}(?P<path2>{_FILE}))\s*\.?$",
    re.IGNORECASE,
)
_JSON = re.compile(rf"^{_SUBJECT}(?:is|be|parses as)\s+(?:valid|well-formed)\s+json\s*\.?$", re.IGNORECASE)
_JSON_KEYS = re.compile(
    rf"^(?:the\s+)?(?:output\s+|response\s+)?json(?:\s+(?:output|object|document))?\s+"
    rf"(?:has|contains|includes)\s+"
    rf"(?:an?\s+|the\s+)?(?:top-level\s+)?(?:key|field|propert(?:y|ies))s?\s+{_LIST}\s*\.?$",
    re.IGNORECASE,
)


def check_of_statement(sentence: str) -> Check:
    """The check that a sentence spells out, or the sentence for a judge."""
    text = " ".join(sentence.split())
    return _compiled(text) if len(text) <= _LONGEST else Check(CheckKind.STATEMENT, text=text)


def _compiled(text: str) -> Check:
    if found := _EXCLUDES.match(text):
        return _listed(CheckKind.EXCLUDES, found["list"] or found["list2"], text)
    if found := _CONTAINS.match(text):
        return _listed(CheckKind.CONTAINS, found["list"], text)
    if found := _MATCHES.match(text):
        return _listed(CheckKind.MATCHES, found["list"], text)
    if found := _FILE_EXISTS.match(text):
        path = (found["path"] or found["path2"]).strip("`\"“”'")
        return Check(CheckKind.FILE_EXISTS, path=path, text=text, compiled=True)
    if found := _JSON_KEYS.match(text):
        schema = {"type": "object", "required": _literals(found["list"])}
        return Check(CheckKind.JSON_SCHEMA, data=schema, text=text, compiled=True)
    if _JSON.match(text):
        return Check(CheckKind.JSON_SCHEMA, data={}, text=text, compiled=True)
    return Check(CheckKind.STATEMENT, text=text)


def _listed(kind: CheckKind, words: str, text: str) -> Check:
    """`"a" or "b"` is either, `"a", "b" and "c"` all of them; none of them may be there when excluded."""
    either = bool(re.search(r"[`\"”’']\s*,?\s*or\s", words)) and kind is not CheckKind.EXCLUDES
    return Check(kind, tuple(_literals(words)), any_of=either, text=text, compiled=True)


def _literals(words: str) -> list[str]:
    return [next(part for part in found if part) for found in _QUOTED.findall(words)]
