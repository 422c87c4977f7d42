"""Validate a SKILL.md against the specification and well-known clients."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit._version import __version__
from skillkit.core.codec import encode
from skillkit.core.content import read_whole
from skillkit.core.exceptions import ContentLoadError, SkillParsingError, SkillsUseError
from skillkit.core.file_sharing import shared_files
from skillkit.core.header import load, split
from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.core.parser import SkillParser
from skillkit.core.processors import render
from skillkit.core.resources import list_resources
from skillkit.core.skill import read_document
from skillkit.core.walk import SkillWalk
from skillkit.disclosure.settings import DEFAULT_MAX_INSTRUCTION_TOKENS
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.evaluation.clients import CLIENTS, Findings, Verdict, treatments, verdicts
from skillkit.evaluation.report import CaseOutcome, Problem, Report, Result, Tier
from skillkit.scripts.catalogue import missing_scripts
from skillkit.scripts.needed_packages import KNOWN, SAME_NAME, MissingPackage, packages_of
from skillkit.scripts.node_packages import node_projects_of
from skillkit.toolsets.declared import toolset_problems

_UNLOADABLE = ("unreadable", "unloadable")
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Validation:
    """All findings about one file."""

    path: Path
    name: str | None
    errors: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    verdicts: tuple[Verdict, ...]
    fields: tuple[str, ...] = ()
    """Fields of the header, in order."""

    @property
    def unloadable(self) -> tuple[Diagnostic, ...]:
        """Errors that keep `load_skill` from returning the skill, whatever a client accepts of its header."""
        return tuple(found for found in self.errors if found.code in _UNLOADABLE)

    def verdict(self, client: str) -> Verdict:
        """Return the verdict of the client with this argument of `--for`, such as `codex`."""
        return next(verdict for verdict in self.verdicts if verdict.client == CLIENTS[client].title)

    def to_data(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "name": self.name,
            "valid": not self.errors,
            "errors": [_data(found) for found in self.errors],
            "warnings": [_data(found) for found in self.warnings],
            "clients": [encode(verdict) for verdict in self.verdicts],
            "fields": {client: treatments(client, self.fields) for client in CLIENTS},
        }


def validate_paths(paths: Iterable[Path]) -> list[Validation]:
    """Validate every SKILL.md in `paths`, each once."""
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            for found in SkillWalk(path.absolute(), include_nested=True):
                files[Path(found.path)] = None
        else:
            files[path.absolute()] = None
    return [validate_file(file) for file in files]


def validate_file(path: Path) -> Validation:
    """Check one SKILL.md strictly against the specification."""
    found, readable = _strict(path)
    metadata = _lenient(path) if readable else None
    errors = [*_spelled(path), *(item for item in found if item.code != "extension-field")]
    warnings = [replace(item, severity=Severity.WARNING) for item in found if item.code == "extension-field"]
    if metadata is not None:
        errors += _unloadable(metadata)
    judged = verdicts(Findings(metadata, tuple(errors), tuple(warnings)))
    if metadata is not None:
        errors += _missing_parts(metadata)
        warnings += _linked_elsewhere(metadata)
        warnings += _undeclared(metadata)
    return Validation(
        path,
        metadata.name if metadata else None,
        tuple(errors),
        tuple(warnings),
        judged,
        _fields(path) if readable else (),
    )


def _strict(path: Path) -> tuple[list[Diagnostic], bool]:
    try:
        return list(SkillParser(strict=True).parse_skill_file(path).diagnostics), True
    except SkillParsingError as error:
        return list(error.diagnostics), True
    except (ContentLoadError, SkillsUseError) as error:
        return [Diagnostic(path, "unreadable", Severity.ERROR, str(error))], False


def _lenient(path: Path) -> SkillMetadata | None:
    try:
        return SkillParser(recover=True).parse_skill_file(path)
    except SkillsUseError:
        return None


def _fields(path: Path) -> tuple[str, ...]:
    data, _ = read_whole(path)
    parts = split(data)
    text = data[parts.header_start : parts.header_end].decode("utf-8", "replace")
    try:
        return tuple(dict.fromkeys(field.key for field in load(text, parts.first_line)))
    except SkillParsingError:
        return ()


def _unloadable(skill: SkillMetadata) -> list[Diagnostic]:
    """Return errors that prevent loading the instructions although the header is valid."""
    try:
        body = read_document(skill).body
    except SkillParsingError:
        return []  # reported for the header already
    except SkillsUseError as error:
        return [Diagnostic(skill.skill_path, "unreadable", Severity.ERROR, str(error))]
    tokens = TokenEstimator().count(render(body, skill.base_dir))
    if tokens > DEFAULT_MAX_INSTRUCTION_TOKENS:
        message = (
            f"The instructions have about {tokens:,} tokens; load_skill returns at most "
            f"{DEFAULT_MAX_INSTRUCTION_TOKENS:,}. Move parts into files beside SKILL.md"
        )
        return [Diagnostic(skill.skill_path, "unloadable", Severity.ERROR, message)]
    return []


def _missing_parts(skill: SkillMetadata) -> list[Diagnostic]:
    """Return toolsets and scripts named by the header that cannot be loaded; nothing is imported."""
    problems = toolset_problems(skill)
    problems += [f"Script '{name}' is named in the header and not there" for name in missing_scripts(skill)]
    return [Diagnostic(skill.skill_path, "missing-part", Severity.ERROR, problem) for problem in problems]


def _linked_elsewhere(skill: SkillMetadata) -> list[Diagnostic]:
    files = [resource.path for resource in list_resources(skill.base_dir, "")]
    return [
        Diagnostic(
            skill.skill_path.parent / path,
            "linked-elsewhere",
            Severity.WARNING,
            "The file is a hard link, or lies on another mount: it can be changed from outside of the skill",
        )
        for path in shared_files(skill.base_dir, files)
    ]


def _undeclared(skill: SkillMetadata) -> list[Diagnostic]:
    """Return undeclared imports of scripts, with the most likely packages."""
    try:
        needed = [each for each in packages_of(skill) if each.source in (KNOWN, SAME_NAME, "")]
        npm = sorted({name for project in node_projects_of(skill) for name in project.undeclared})
    except SkillsUseError:
        return []  # a tree without a digest is reported elsewhere
    named = [f"{each.module} ({_most_likely(each)})" for each in needed]
    named += [f"{name} (the npm package of that name)" for name in npm]
    if not named:
        return []
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    message = (
        f"Scripts import what nothing declares: {', '.join(named[:_MAX_NAMED])}{more}; "
        "declare it, or every user has to accept it"
    )
    return [Diagnostic(skill.skill_path, "undeclared-import", Severity.WARNING, message)]


def _most_likely(package: MissingPackage) -> str:
    if package.requirement is None:
        return "unknown package"
    return package.requirement if package.source == KNOWN else f"perhaps {package.requirement}"


def _spelled(path: Path) -> list[Diagnostic]:
    if path.name == "SKILL.md":
        return []
    message = f"The file must be called SKILL.md, not '{path.name}'"
    return [Diagnostic(path, "file-name", Severity.ERROR, message)]


def as_report(validations: Iterable[Validation]) -> Report:
    """Convert validations to a report, with one result per finding."""
    results = []
    for each in validations:
        name, file = each.name or each.path.parent.name, str(each.path)
        found = [(item, CaseOutcome.FAILED) for item in each.errors]
        found += [(item, CaseOutcome.WARNED) for item in each.warnings]
        for item, outcome in found:
            problem = Problem(item.message, line=item.line, warning=outcome is CaseOutcome.WARNED)
            results.append(Result(Tier.STATIC, name, item.code, outcome, "", item.message, (problem,), file))
        if not found:
            results.append(Result(Tier.STATIC, name, "specification", CaseOutcome.PASSED, suite=file))
    return Report(tuple(results), tool=f"skillkit {__version__}")


def _data(found: Diagnostic) -> dict[str, object]:
    return {"rule": found.code, "line": found.line, "column": found.column, "message": found.message}
