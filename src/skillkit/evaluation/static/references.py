"""Files, headings and skills that the text of a skill references."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from skillkit.core.mentions import LINK, linked_files, named_files, named_skills
from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.markdown import Document, slug_of

_RUN = re.compile(r"(?:python3?|bash|sh|node|deno run|bun|ruby|perl|uv run)\s+(?:\./)?$")
_CODE = re.compile(r"`[^`]*`")


def missing_files(folder: Path, file: Path, document: Document) -> Iterator[Problem]:
    """Yield links and paths to missing files of the skill."""
    shown = file.relative_to(folder).as_posix()
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


def missing_anchors(folder: Path, file: Path, document: Document) -> Iterator[Problem]:
    """Yield links to missing headings of the file."""
    anchors: set[str] | None = None
    for line in document.prose:
        for link in LINK.finditer(_CODE.sub("", line.text)):
            if not link["target"].startswith("#") or len(link["target"]) < 2:
                continue
            anchors = document.anchors() if anchors is None else anchors
            wanted = unquote(link["target"][1:])
            if not _known_anchor(wanted, anchors):
                shown = file.relative_to(folder).as_posix()
                yield Problem(f"links to the heading #{wanted}, which does not exist", shown, line.number)


def missing_skills(folder: Path, file: Path, document: Document, library: set[str]) -> Iterator[Problem]:
    """Yield references to skills that the library lacks, in unambiguous forms only."""
    shown = file.relative_to(folder).as_posix()
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
