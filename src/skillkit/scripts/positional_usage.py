"""Arguments that a script takes by their place, read in its text where it says nothing of its use."""

import re
from dataclasses import dataclass

_PYTHON = re.compile(
    r"(?:^[ \t]*(\w+)[ \t]*(?::[^=\n]{1,40})?=[^=\n]{0,60}?)?\bargv\[([1-9])\]", re.MULTILINE
)
_SHELL = re.compile(r"(?:\b([A-Za-z_]\w*)=[\"']?)?\$\{?([1-9])(?![0-9])(:?[-=])?")
_NODE = re.compile(r"(?:\b(\w+)[ \t]*=[^=\n]{0,60}?)?\bargv\[([2-9])\]")
_NODE_LIST = re.compile(r"\[([\w, ]{1,200})\][ \t]*=[ \t]*process\.argv\.slice\(2\)")
_RUBY = re.compile(r"(?:\b(\w+)[ \t]*=[^=\n]{0,60}?)?\bARGV\[([0-8])\]")
_UNNAMED = "ARGUMENT"
_COMMENT = re.compile(r"^[ \t]*(?:#|//).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Form:
    """How a language names an argument by its place."""

    pattern: re.Pattern[str]
    first: int


_FORMS = {
    ".py": _Form(_PYTHON, 1),
    ".js": _Form(_NODE, 2),
    ".mjs": _Form(_NODE, 2),
    ".cjs": _Form(_NODE, 2),
    ".ts": _Form(_NODE, 2),
    ".rb": _Form(_RUBY, 0),
}


def find_positional_usage(name: str, source: str, *, named_only: bool = False) -> str:
    """Return a line of usage with the names that the text gives to arguments; nothing where it takes none.

    With `named_only` nothing, too, where the text names them by their place alone: that says little.
    """
    code = _COMMENT.sub("", source)
    suffix = name[name.rfind(".") :] if "." in name else ""
    form = _FORMS.get(suffix, _Form(_SHELL, 1))
    words = dict(enumerate(_listed(code), form.first))
    for found in form.pattern.finditer(code):
        place = int(found[2])
        given = (found[1] or "").upper()
        optional = form.pattern is _SHELL and bool(found[3])
        if given or place not in words:
            word = given or f"{_UNNAMED}{place - form.first + 1}"
            words[place] = f"[{word}]" if optional else word
    listed = [words[place] for place in sorted(words)]
    if not listed or (named_only and any(_UNNAMED in word for word in listed)):
        return ""
    return " ".join(("usage:", name, *listed))


def _listed(code: str) -> list[str]:
    """Names that a script of Node.js gives to all of its arguments at once."""
    found = _NODE_LIST.search(code)
    return [] if found is None else [word.upper() for each in found[1].split(",") if (word := each.strip())]
