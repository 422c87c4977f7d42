"""Files, headings and skills that the text of a skill refers to."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from skillkit.core.skill_mentions import named_skills
from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.markdown import Document, slug_of

_LINK = re.compile(
    r"(?<!\\)!?\[[^\]\n]{0,300}\]\(\s*<?(?P<target>[^)\s>]{1,500})>?(?:\s+[\"'][^\"']*[\"'])?\s*\)"
)
_FOLDERS = (
    "scripts|references|reference|assets|templates|resources|examples|data|docs|agents|toolsets|rules|guides"
)
_SPECIFIED = ("scripts", "references", "assets")
_RUN = re.compile(r"(?:python3?|bash|sh|node|deno run|bun|ruby|perl|uv run)\s+(?:\./)?$")
_SKILL_FOLDER = r"(?:<[^<>\n]{0,40}skill[^<>\n]{0,40}>|\$\{?\w*SKILL\w*\}?|\{baseDir\}|\{skill\w*\})/"
"""How texts write the folder of their own skill: `<path-to-skill>/`, `${CLAUDE_SKILL_DIR}/`, `{baseDir}/`."""
_NAME = r"[\w./-]*\w"
_SCRIPT_IN_PROSE = re.compile(
    rf"(?<![\w/.~$:>}}\[(-])(?P<path>scripts/{_NAME}\.(?:py|sh|js|mjs|ts|rb|pl))(?![\w/])"
)
_CODE = re.compile(r"`[^`]*`")
_PLACEHOLDER = re.compile(
    r"[*{}<>$|\[\]…]|\.\.\.|(?:^|[/_-])(?:your|my|path|foo|bar|xxx|example|name)(?:[/_.-]|$)", re.IGNORECASE
)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def missing_files(folder: Path, file: Path, document: Document) -> Iterator[Problem]:
    """Links and paths that lead to no file of the skill."""
    shown = file.relative_to(folder).as_posix()
    seen: set[str] = set()
    for line in document.prose:
        without_code = _CODE.sub(lambda span: " " * len(span.group()), line.text)
        for link in _LINK.finditer(without_code):
            target = unquote(link["target"]).split("#")[0].split("?")[0]
            if not target or _SCHEME.match(target) or target.startswith(("/", "//", "~")):
                continue
            if _PLACEHOLDER.search(target) or target in seen or not _is_file_like(target):
                continue
            seen.add(target)
            if not _exists(file.parent / target) and not _exists(folder / target):
                yield Problem(
                    f"links to {target}, which is not there{_nearest(folder, target)}", shown, line.number
                )
    for number, text, path in _paths(folder, document):
        if path in seen or _PLACEHOLDER.search(path) or _exists(folder / path) or _exists(file.parent / path):
            continue
        seen.add(path)
        # The folder of the same name may be the user's own, unless the skill has one itself or runs it.
        top = path.split("/", 1)[0]
        own = (folder / top).is_dir() or _RUN.search(text.split(path, maxsplit=1)[0]) is not None
        if (own or top in _SPECIFIED) and not _mentions_creation(text, path):
            message = f"refers to {path}, which is not there{_nearest(folder, path)}"
            yield Problem(message, shown, number, warning=file.name != "SKILL.md" or not own)


def _paths(folder: Path, document: Document) -> Iterator[tuple[int, str, str]]:
    """Paths beneath the skill's folder: in code however it names that folder, in prose those of scripts."""
    beneath = rf"(?<![\w/.~$:>}}-])(?:\./)?|{_SKILL_FOLDER}|(?<![\w-]){re.escape(folder.name)}/"
    in_code = re.compile(rf"(?:{beneath})(?P<path>(?:{_FOLDERS})/{_NAME}\.[A-Za-z0-9]{{1,8}})(?![\w/])")
    for number, text in document.code_spans():
        yield from ((number, text, found["path"]) for found in in_code.finditer(text))
    for line in document.prose:
        text = _CODE.sub(" ", line.text)
        yield from ((line.number, text, found["path"]) for found in _SCRIPT_IN_PROSE.finditer(text))


def missing_anchors(folder: Path, file: Path, document: Document) -> Iterator[Problem]:
    """Links to headings that the file does not have."""
    anchors: set[str] | None = None
    for line in document.prose:
        for link in _LINK.finditer(_CODE.sub("", line.text)):
            if not link["target"].startswith("#") or len(link["target"]) < 2:
                continue
            anchors = document.anchors() if anchors is None else anchors
            wanted = unquote(link["target"][1:])
            if not _known_anchor(wanted, anchors):
                shown = file.relative_to(folder).as_posix()
                yield Problem(f"links to the heading #{wanted}, which is not there", shown, line.number)


def missing_skills(folder: Path, file: Path, document: Document, library: set[str]) -> Iterator[Problem]:
    """Skills that the text names in a form that only a skill has and that the library does not have."""
    shown = file.relative_to(folder).as_posix()
    seen = set(library)
    for line in document.prose:
        for name in named_skills(line.text):
            if name not in seen:
                seen.add(name)
                near = get_close_matches(name, library, 1, 0.8)
                hint = f"; is it {near[0]}?" if near else ""
                yield Problem(f"names the skill {name}, which is not there{hint}", shown, line.number)


def _is_file_like(target: str) -> bool:
    last = target.rstrip("/").rsplit("/", 1)[-1]
    return target.endswith("/") or "." in last or "/" in target


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _mentions_creation(text: str, path: str) -> bool:
    """Whether the line of code writes the file itself, as an output."""
    before = text.split(path, maxsplit=1)[0]
    return bool(
        re.search(r"(?:>{1,2}|\s-o|--out(?:put)?[\w-]*[= ]|mkdir|touch|--save\S*)\s*[\"']?(?:\./)?$", before)
    )


def _nearest(folder: Path, target: str) -> str:
    name = target.rsplit("/", 1)[-1]
    files = {path.name: path for path in islice(folder.rglob("*"), 5000)}
    near = get_close_matches(name, files, 1, 0.75)
    return f"; is it {files[near[0]].relative_to(folder).as_posix()}?" if near else ""


def _known_anchor(wanted: str, anchors: set[str]) -> bool:
    """Renderers differ in how they treat signs in a heading; letters and digits must agree."""

    def bare(text: str) -> str:
        return re.sub(r"[\W_]+", "", text.lower())

    plain = bare(wanted)
    return wanted in anchors or slug_of(wanted) in anchors or any(bare(anchor) == plain for anchor in anchors)
