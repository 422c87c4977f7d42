"""Files that name other files of cases."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.evaluation.cases import Case, Routing, Suite, Unreadable
from skillkit.evaluation.formats.document import mapping_of, text_of, texts_of

MANIFESTS = ("triggers_manifest", "trigger_manifest", "content_manifests")
"""Keys of a manifest that list other files."""
Reader = Callable[[Path, str | None], Suite | Unreadable]


def is_manifest(document: Mapping[str, object]) -> bool:
    return any(_named(document))


def read_manifest(document: Mapping[str, object], path: Path, skill: str | None, read: Reader) -> Suite:
    """Read the cases of all existing files that are named; missing ones are noted."""
    about = text_of(document, "skill", "skill_name") or skill
    cases: list[Case] = []
    notes: list[str] = []
    parts: list[Path] = []
    for name in _named(document):
        file = _found(path, name)
        if file is None:
            notes.append(f"{name} is not there")
            continue
        parts.append(file)
        suite = read(file, about)
        if isinstance(suite, Unreadable):
            notes.append(f"{name} {suite.reason}")
        else:
            cases.extend(replace(case, id=f"{file.stem}/{case.id}") for case in suite.cases)
    own = about or ""
    for key, routing in (
        ("trigger_keywords_primary", Routing((own,), implied=True)),
        ("stop_list", Routing((), (own,))),
    ):
        for number, phrase in enumerate(texts_of(document.get(key)), 1):
            cases.append(Case(f"{key}/{number}", (phrase,), skill=about, routing=routing))
    return Suite(path, "manifest", tuple(cases), about, tuple(notes), tuple(parts))


def _named(document: Mapping[str, object]) -> Iterator[str]:
    for key in MANIFESTS:
        yield from texts_of(document.get(key))
    yield from texts_of(mapping_of(document.get("cases")).get("files"))


def _found(path: Path, name: str) -> Path | None:
    """Find a named file beside the manifest, or beneath the parent of its folder."""
    for base in (path.parent, path.parent.parent):
        file = base / name
        if file.is_file() and real_path(file).is_relative_to(real_path(base)):
            return file
    return None
