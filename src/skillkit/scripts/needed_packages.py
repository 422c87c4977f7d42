"""What a skill's Python scripts import and do not declare, read from their source: nothing is run."""

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
from skillkit.scripts.imports import LARGEST_SOURCE, OwnSources, read_files
from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata

KNOWN, SAME_NAME = "known", "same name"
_MARK = b"# /// script"


@dataclass(frozen=True, slots=True)
class NeededPackage:
    """A module that is imported and comes neither with Python nor with the skill."""

    module: str
    requirement: str | None
    """What most likely has it; None when nothing but the user can tell."""
    source: str
    """Why: the file of the skill that names it, `known`, `same name` (a guess), or nothing."""
    scripts: tuple[str, ...]
    optional: bool = False
    """Whether the scripts go on without it."""


def needed_packages(
    files: Mapping[str, bytes], scripts: Iterable[str], *, strict: bool = False
) -> list[NeededPackage]:
    """Return what `scripts` need of the index and do not declare; `files` are all of the skill's, by path.

    A script whose PEP 723 block names packages has declared all that it needs, unless `strict`: then also
    what it imports and none of them is named like is returned.
    """
    stated = stated_requirements(files)
    sources = OwnSources(files)
    found: dict[str, NeededPackage] = {}
    for script in sorted(scripts):
        content = files.get(script, b"")
        if not (script.endswith(".py") or _is_python(content)):
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
) -> NeededPackage:
    if (named := find_stated(module, stated)) is not None:
        return NeededPackage(module, named[0], named[1], (script,), optional)
    if known := distributions_of(module):
        return NeededPackage(module, known[0], KNOWN, (script,), optional)
    guess = same_named(module)
    return NeededPackage(module, guess, SAME_NAME if guess else "", (script,), optional)


def _is_python(content: bytes) -> bool:
    first = content[:200].partition(b"\n")[0]
    return first.startswith(b"#!") and b"python" in first


def _undeclared_imports(script: str, sources: OwnSources, *, strict: bool) -> dict[str, bool]:
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
    """The packages that a script's own block names; None for a block that cannot be read."""
    if _MARK not in content:
        return set()
    try:
        metadata = parse_inline_metadata(content[:LARGEST_SOURCE].decode("utf-8", "replace"))
    except InlineMetadataError:
        return None
    return None if metadata.other_sources else {normalised(each) for each in metadata.dependencies}


def chosen_requirements(needed: list[NeededPackage], added: list[str], left_out: list[str]) -> list[str]:
    """Return what the user takes of `needed`, with what he names himself in place of the same name."""
    skipped = {normalised(name) for name in (*left_out, *added)}
    kept = [
        each.requirement
        for each in needed
        if each.requirement is not None
        and not skipped & {normalised(each.requirement), normalised(each.module)}
    ]
    return [*dict.fromkeys((*kept, *added))]


def packages_of(skill: SkillMetadata, *, strict: bool = False) -> list[NeededPackage]:
    """Return what the scripts of a skill on disk need and do not declare."""
    scripts = [script.relative_path for script in find_scripts(skill)]
    return needed_packages(read_files(skill.base_dir, scripts), scripts, strict=strict)


def misses_packages(tree: Path, script: str) -> bool:
    """Whether a script in `tree` imports what it seems not to declare."""
    return bool(needed_packages(read_files(tree, [script]), [script], strict=True))
