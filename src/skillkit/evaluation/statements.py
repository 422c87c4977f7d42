"""Sentences about an answer: quoted text that it contains or does not contain; the rest is for a judge."""

import re

from skillkit.evaluation.cases import Check, CheckKind

_QUOTED = r"(?:`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”)"
_FORM = re.compile(
    r"(?:The )?(?:output |response |answer )?"
    r"(?P<verb>contains|includes|mentions|does not (?:contain|include|mention)) "
    rf"(?P<list>{_QUOTED}(?:(?:,| and| or|, and|, or) {_QUOTED})*)\.?",
    re.IGNORECASE,
)


def check_of_statement(sentence: str) -> Check:
    """The check that a sentence of the documented form spells out, or the sentence for a judge."""
    text = " ".join(sentence.split())
    found = _FORM.fullmatch(text)
    if found is None:
        return Check(CheckKind.STATEMENT, text=text)
    kind = CheckKind.EXCLUDES if "not" in found["verb"].lower() else CheckKind.CONTAINS
    literals = tuple(quoted[1:-1] for quoted in re.findall(_QUOTED, found["list"]))
    between = re.sub(_QUOTED, "", found["list"])
    any_of = kind is CheckKind.CONTAINS and " or" in between
    return Check(kind, literals, any_of=any_of, text=text, compiled=True)
