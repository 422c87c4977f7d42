"""Read files of cases in every supported format, with one function and one model."""

from pathlib import Path

from skillkit.evaluation.cases import Suite, Unreadable
from skillkit.evaluation.formats import manifests, scenarios, waza
from skillkit.evaluation.formats.document import SUFFIXES, FormatError, mapping_of, read_document
from skillkit.evaluation.formats.items import read_items

__all__ = ["SUFFIXES", "read_cases_file"]


def read_cases_file(path: Path, skill: str | None = None) -> Suite | Unreadable:
    """Read the cases of a file; `skill` is the default for cases that do not name one."""
    try:
        return _read(path, skill)
    except FormatError as error:
        return Unreadable(path, str(error))


def _read(path: Path, skill: str | None) -> Suite:
    document = read_document(path)
    top = mapping_of(document)
    for key in scenarios.LISTS:
        if isinstance(top.get(key), list):
            return scenarios.read_list(key, top, path, skill)
    if isinstance(top.get("success_criteria"), list) and "initial_prompt" in top:
        return scenarios.read_criteria(top, path, skill)
    if waza.is_trigger_file(top):
        return waza.read_triggers(top, path, skill)
    if waza.is_suite(top):
        return waza.read_suite(top, path, skill)
    if task := waza.read_task(top, path, skill):
        return task
    if manifests.is_manifest(top):
        return manifests.read_manifest(top, path, skill, read_cases_file)
    return read_items(document, path, skill)
