"""Undeclared imports of a skill's Python scripts, read from their source: nothing is run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.scripts.catalogue import find_scripts
from skillkit.scripts.distributions import (
    candidates,
    distributions_of,
    find_stated,
    normalised,
    same_named,
    stated_requirements,
)
from skillkit.scripts.imports import LARGEST_SOURCE, SkillSourceFiles, read_files
from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata
from skillkit.scripts.interpreters import PYTHON, language_of

KNOWN, SAME_NAME = "known", "same name"
_MARK = b"# /// script"


@dataclass(frozen=True, slots=True)
class MissingPackage:
    """A module that is imported and comes neither with Python nor with the skill."""

    module: str
    requirement: str | None
    """The package that most likely has it; None if only the user can tell."""
    source: str
    """Why: the file of the skill that names it, `known`, `same name` (a guess), or nothing."""
    scripts: tuple[str, ...]
    optional: bool = False
    """Whether it is optional for the scripts."""


def needed_packages(
    files: Mapping[str, bytes], scripts: Iterable[str], *, strict: bool = False
) -> list[MissingPackage]:
    """Return the undeclared packages of `scripts`; `files` are all files of the skill by path.

    A script whose PEP 723 block names packages has declared all that it needs, unless `strict`: then also
    what it imports and none of them is named like is returned.
    """
    stated = stated_requirements(files)
    sources = SkillSourceFiles(files)
    found: dict[str, MissingPackage] = {}
    for script in sorted(scripts):
        if language_of(script, files.get(script, b"")) != PYTHON:
            continue
        for module, optional in _undeclared_imports(script, sources, strict=strict).items():
            package = _package(module, stated, script, optional=optional)
            if package.source == SAME_NAME and sources.has_module(module.partition(".")[0]):
                continue  # a module of the skill that is not on this script's path
            key = normalised(package.requirement or module)
            if (known := found.get(key)) is not None:
                package = replace(
                    known,
                    scripts=tuple(dict.fromkeys((*known.scripts, script))),
                    optional=known.optional and optional,
                )
            found[key] = package
    return sorted(found.values(), key=lambda package: package.module.lower())


def _package(
    module: str, stated: Mapping[str, tuple[str, str]], script: str, *, optional: bool
) -> MissingPackage:
    if (named := find_stated(module, stated)) is not None:
        return MissingPackage(module, named[0], named[1], (script,), optional)
    if known := distributions_of(module):
        return MissingPackage(module, known[0], KNOWN, (script,), optional)
    guess = same_named(module)
    return MissingPackage(module, guess, SAME_NAME if guess else "", (script,), optional)


def _undeclared_imports(script: str, sources: SkillSourceFiles, *, strict: bool) -> dict[str, bool]:
    """Modules from elsewhere that a script does not declare, and whether each is optional.

    Packages that are declared bring others along, so only `strict` looks for what a list has left out.
    """
    declared = _declared(sources.files.get(script, b""))
    if declared is None or (declared and not strict):
        return {}
    imports = sources.imports_of(script)
    return {
        module: optional for module, optional in imports.items() if declared.isdisjoint(candidates(module))
    }


def _declared(content: bytes) -> set[str] | None:
    """Return the packages in a script's own block; None for an invalid block."""
    if _MARK not in content:
        return set()
    try:
        metadata = parse_inline_metadata(content[:LARGEST_SOURCE].decode("utf-8", "replace"))
    except InlineMetadataError:
        return None
    return None if metadata.other_sources else {normalised(each) for each in metadata.dependencies}


def chosen_requirements(needed: list[MissingPackage], added: list[str], left_out: list[str]) -> list[str]:
    """Return the packages of `needed`, replaced by those of the same name that the user gives."""
    skipped = {normalised(name) for name in (*left_out, *added)}
    kept = [
        each.requirement
        for each in needed
        if each.requirement is not None
        and not skipped & {normalised(each.requirement), normalised(each.module)}
    ]
    return [*dict.fromkeys((*kept, *added))]


def packages_of(skill: SkillMetadata, *, strict: bool = False) -> list[MissingPackage]:
    """Return the undeclared packages of a skill on disk."""
    scripts = [script.relative_path for script in find_scripts(skill)]
    return needed_packages(read_files(skill.base_dir, scripts), scripts, strict=strict)


def misses_packages(tree: Path, script: str) -> bool:
    """Whether a script in `tree` seems to have undeclared imports."""
    return bool(needed_packages(read_files(tree, [script]), [script], strict=True))
