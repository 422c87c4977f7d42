"""Problems of a text: hidden characters, unclosed code, template lines, secrets, missing references."""

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from skillkit.core.mentions import LINK, linked_files, named_files, named_skills
from skillkit.core.text import escape_hidden, hidden_in
from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.markdown import Document, slug_of

_HARMLESS = re.compile("[\ufe00-\ufe0f\u00ad]")
_CODE = re.compile(r"`[^`]*`")
_RUN = re.compile(r"(?:python3?|bash|sh|node|deno run|bun|ruby|perl|uv run)\s+(?:\./)?$")
_JOINERS = "\u200c\u200d"
_TEMPLATE_LINES = frozenset(
    {
        "Say which requests this skill is for, and which it is not for.",
        "1. Say what to do first.",
        "2. Say what to check.",
        "3. Say what a good result looks like.",
    }
)
_SECRET = re.compile(
    r"\b(?:sk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}"
    r"|xox[baprs]-[0-9A-Za-z-]{20,}|AIza[0-9A-Za-z_-]{35}|glpat-[0-9A-Za-z_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,})"
    r"|-----BEGIN (?:RSA |EC |OPENSSH )?PRIVATE KEY-----"
)
_EXAMPLE = "EXAMPLE"
"""Suffix of the example keys in the documentation of AWS."""


def hidden_characters(document: Document, shown: str) -> Iterator[Problem]:
    """Yield characters that are invisible to readers but not to models."""
    for line in document.lines:
        if line.text.isascii() and line.text.isprintable():
            continue
        found = [
            match.group()
            for match in hidden_in(line.text)
            if not _HARMLESS.match(match.group()) and not _joins_visibly(line.text, match.start())
        ]
        if found:
            spelled = ", ".join(sorted({escape_hidden(character) for character in found}))
            yield Problem(f"has hidden characters: {spelled}", shown, line.number)


def _joins_visibly(text: str, place: int) -> bool:
    """Return whether a joiner is legitimate: in an emoji, or between letters of a script that needs it."""
    character = text[place]
    if character in "\t\r\x0c":
        return True
    if character == "\ufeff":
        return place == 0
    if character not in _JOINERS:
        return False
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return bool(before) and ord(before) > 0x2FF and (not after or ord(after) > 0x2FF)


def open_code_block(document: Document, shown: str) -> Iterator[Problem]:
    if document.open_fence is not None:
        yield Problem("begins a block of code that never ends", shown, document.open_fence)


def leftovers(document: Document, shown: str) -> Iterator[Problem]:
    """Yield lines of the template of `agent skill create` that were not replaced."""
    for line in document.prose:
        if line.text.strip() in _TEMPLATE_LINES:
            yield Problem(
                f"is still the text of the template: {line.text.strip()}", shown, line.number, warning=True
            )


def comments(document: Document, shown: str) -> Iterator[Problem]:
    """Yield HTML comments: models read them, rendered pages hide them."""
    for line in document.prose:
        if "<!--" in _CODE.sub("", line.text):
            message = "has an HTML comment, which a model reads and a rendered page hides"
            yield Problem(message, shown, line.number, warning=True)


def secrets(document: Document, shown: str) -> Iterator[Problem]:
    for line in document.lines:
        for found in _SECRET.finditer(line.text):
            if _EXAMPLE not in found.group() and not _is_marker_only(found.group(), line.text):
                yield Problem(f"holds what looks like a secret: {found.group()[:8]}…", shown, line.number)


def _is_marker_only(found: str, line: str) -> bool:
    """Return whether a key's first line is only part of a line: the text describes keys."""
    return found.startswith("-----BEGIN") and line.strip() != found


def local_paths(document: Document, shown: str) -> Iterator[Problem]:
    """Yield paths in the home folder of the current user, which nobody else has."""
    home = f"{Path.home()}{os.sep}"
    for line in document.lines:
        if len(home) > 2 and home in line.text:
            yield Problem(f"names your home folder: {home}", shown, line.number, warning=True)


def missing_files(document: Document, shown: str, folder: Path) -> Iterator[Problem]:
    """Yield links and paths to missing files of the skill."""
    file = folder / shown
    seen: set[str] = set()

    def is_new(path: str) -> bool:
        new = path not in seen and not _exists(file.parent / path) and not _exists(folder / path)
        seen.add(path)
        return new

    for line in document.prose:
        for target in filter(is_new, linked_files(_CODE.sub(" ", line.text))):
            message = f"links to {target}, which does not exist{_nearest(folder, target)}"
            yield Problem(message, shown, line.number)
    for line in document.lines:
        for path in filter(is_new, named_files(line.text)):
            # A folder of the same name may be the user's, unless the skill has one or runs the file.
            own = (folder / path.split("/", 1)[0]).is_dir() or _RUN.search(line.text.split(path, 1)[0])
            message = f"refers to {path}, which does not exist{_nearest(folder, path)}"
            yield Problem(message, shown, line.number, warning=file.name != "SKILL.md" or not own)


def missing_anchors(document: Document, shown: str) -> Iterator[Problem]:
    """Yield links to missing headings of the file."""
    anchors: set[str] | None = None
    for line in document.prose:
        for link in LINK.finditer(_CODE.sub("", line.text)):
            if not link["target"].startswith("#") or len(link["target"]) < 2:
                continue
            anchors = document.anchors() if anchors is None else anchors
            wanted = unquote(link["target"][1:])
            if not _known_anchor(wanted, anchors):
                yield Problem(f"links to the heading #{wanted}, which does not exist", shown, line.number)


def missing_skills(document: Document, shown: str, library: set[str]) -> Iterator[Problem]:
    """Yield references to skills that the library lacks, in unambiguous forms only."""
    seen = set(library)
    for line in document.prose:
        for name in named_skills(line.text):
            if name not in seen:
                seen.add(name)
                near = get_close_matches(name, library, 1, 0.8)
                hint = f"; is it {near[0]}?" if near else ""
                yield Problem(f"names the skill {name}, which does not exist{hint}", shown, line.number)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _nearest(folder: Path, target: str) -> str:
    name = target.rsplit("/", 1)[-1]
    files = {path.name: path for path in islice(folder.rglob("*"), 5000)}
    near = get_close_matches(name, files, 1, 0.75)
    return f"; is it {files[near[0]].relative_to(folder).as_posix()}?" if near else ""


def _known_anchor(wanted: str, anchors: set[str]) -> bool:
    """Return whether an anchor exists; renderers differ in punctuation, but letters and digits must agree."""

    def bare(text: str) -> str:
        return re.sub(r"[\W_]+", "", text.lower())

    plain = bare(wanted)
    return wanted in anchors or slug_of(wanted) in anchors or any(bare(anchor) == plain for anchor in anchors)
