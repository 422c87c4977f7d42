"""Validate a SKILL.md against the specification and well-known clients."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

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
from skillkit.core.text import one_line
from skillkit.core.walk import SkillWalk
from skillkit.disclosure.settings import DEFAULT_MAX_INSTRUCTION_TOKENS
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.evaluation.clients import CLIENTS, treatments
from skillkit.evaluation.report import CaseOutcome, Problem, Report, Result, Tier
from skillkit.scripts.catalogue import missing_scripts
from skillkit.scripts.needed_packages import KNOWN, SAME_NAME, MissingPackage, packages_of
from skillkit.scripts.node_packages import node_projects_of
from skillkit.toolsets.declared import toolset_problems

CLAUDE_CODE_ENTRY = 1536
DESCRIPTION_BUDGET = 8000
"""Limit of Claude Code (1 % of 200k tokens) and Codex for all descriptions together, in characters."""
_XML = re.compile(r"<[A-Za-z/][^>]*>")
MAX_NAME = 64
_UNLOADABLE = ("unreadable", "unloadable")
_MAX_NAMED = 20
_GUESSED = ("broken-field", "no-header", "unterminated-header")
_RESERVED = ("anthropic", "claude")
Treatment = Literal["accepts", "warns", "refuses"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one client on the file."""

    client: str
    outcome: Treatment
    reason: str


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
    verdicts = tuple(_verdicts(path, metadata, errors, warnings))
    if metadata is not None:
        errors += _missing_parts(metadata)
        warnings += _linked_elsewhere(metadata)
        warnings += _undeclared(metadata)
    return Validation(
        path,
        metadata.name if metadata else None,
        tuple(errors),
        tuple(warnings),
        verdicts,
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
            f"The instructions have about {tokens:,} tokens; load_skill hands out at most "
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


def _verdicts(
    path: Path, metadata: SkillMetadata | None, errors: list[Diagnostic], warnings: list[Diagnostic]
) -> Iterable[Verdict]:
    yield _specification(errors, warnings)
    yield _claude_upload(metadata, errors, warnings)
    unreadable = [found.message for found in errors if found.code == "unreadable"]
    if unreadable:
        for client in ("Claude Code", "Codex", "VS Code"):
            yield Verdict(client, "refuses", f"{unreadable[0]}, so the skill is left out")
        return
    yield _claude_code(metadata, errors)
    yield _codex(metadata, errors)
    if metadata is None or metadata.recovered:
        yield Verdict("VS Code", "refuses", "the header cannot be read, so the skill is left out")
    else:
        yield _agents_folder("VS Code", errors, "reads .agents/skills")


def _claude_code(metadata: SkillMetadata | None, errors: list[Diagnostic]) -> Verdict:
    """Return the verdict of Claude Code, which accepts every file and ignores invalid parts of a header."""
    client, place = "Claude Code", "reads .claude/skills"
    codes = {found.code for found in errors}
    if "yaml" in codes:
        reason = "the header is not YAML and counts as empty: only /name starts it, no request matches"
        return Verdict(client, "warns", f"{place}; {reason}")
    if metadata is None or "header" in codes or _lacks_description(errors):
        return Verdict(client, "warns", f"{place}; takes the first paragraph for the description")
    length = len(one_line(metadata.description))
    if length > CLAUDE_CODE_ENTRY:
        return Verdict(client, "warns", f"{place}; cuts the description at {CLAUDE_CODE_ENTRY}")
    return Verdict(client, "accepts", f"{place}; takes {_share(metadata)}")


def _codex(metadata: SkillMetadata | None, errors: list[Diagnostic]) -> Verdict:
    """Return the verdict of Codex, which repairs missing quotes, requires a description, and checks only
    lengths."""
    client, place = "Codex", "reads .agents/skills"
    codes = {found.code for found in errors}
    if _lacks_description(errors):
        return Verdict(client, "refuses", "there is no description, so the skill is left out")
    if metadata is None or (metadata.recovered and not _lacks_only_name(metadata)):
        return Verdict(client, "refuses", "the header cannot be read, so the skill is left out")
    if len(metadata.name) > MAX_NAME:
        return Verdict(client, "refuses", f"the name is longer than {MAX_NAME} characters")
    if "file-name" in codes:
        return Verdict(client, "warns", f"{place}; may leave it out: file-name")
    mended = "; puts quotes around a value" if "yaml" in codes else ""
    return Verdict(client, "accepts", f"{place}{mended}; takes {_share(metadata)}")


def _lacks_description(errors: list[Diagnostic]) -> bool:
    return any(found.code == "missing-field" and "description" in found.message for found in errors)


def _lacks_only_name(metadata: SkillMetadata) -> bool:
    codes = {found.code for found in metadata.diagnostics}
    return "missing-name" in codes and codes.isdisjoint(_GUESSED)


def _share(metadata: SkillMetadata) -> str:
    length = len(one_line(metadata.description))
    return f"{length} of about {DESCRIPTION_BUDGET:,} characters that all descriptions share"


def _specification(errors: list[Diagnostic], warnings: list[Diagnostic]) -> Verdict:
    rules = sorted({found.code for found in (*errors, *warnings)})
    if rules:
        return Verdict("Agent Skills specification", "refuses", f"by the letter: {', '.join(rules)}")
    return Verdict("Agent Skills specification", "accepts", "follows it to the letter")


def _claude_upload(
    metadata: SkillMetadata | None, errors: list[Diagnostic], warnings: list[Diagnostic]
) -> Verdict:
    client = "claude.ai upload"
    reasons = sorted({found.code for found in (*errors, *warnings)})
    if metadata is not None:
        if any(word in metadata.canonical_name for word in _RESERVED):
            reasons.append(f"the name contains a reserved word ({' or '.join(_RESERVED)})")
        if _XML.search(metadata.description):
            reasons.append("the description contains XML tags")
    if reasons:
        return Verdict(client, "refuses", f"takes the six specified fields only: {', '.join(reasons)}")
    return Verdict(client, "accepts", "only specified fields")


def _agents_folder(client: str, errors: list[Diagnostic], reason: str) -> Verdict:
    """Return the verdict of clients that enforce the limits of the specification and ignore unknown
    fields."""
    limits = ("name-format", "name-folder", "description-length", "missing-field", "file-name")
    broken = sorted({found.code for found in errors if found.code in limits})
    if broken:
        return Verdict(client, "warns", f"{reason}; may leave it out: {', '.join(broken)}")
    return Verdict(client, "accepts", reason)


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
