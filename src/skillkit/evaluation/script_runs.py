"""The scripts tier: run scripts of a skill in the sandbox with known input and expected results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from skillkit.core.authority import Authority, DefaultAuthority, Requester
from skillkit.core.availability import Refusal
from skillkit.core.codec import encode
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.exceptions import ConfigurationError, SkillNotFoundError
from skillkit.core.foreign_json import parse_json
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata
from skillkit.evaluation.behaviour.executor import plain_files
from skillkit.evaluation.cases import AssignedCase, Case, ScriptCall
from skillkit.evaluation.json_values import NotJudgedError, schema_differences, subset_differences
from skillkit.evaluation.report import CaseOutcome, Problem, Result, Tier
from skillkit.evaluation.routing import canonical
from skillkit.evaluation.workspace import workspace
from skillkit.scripts.tools import ScriptTools

WORK = "$WORK"
"""Placeholder for the folder of the case in arguments."""
MOST_OUTPUT = 20_000
_LONGEST_FILE = 8 << 20


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """Several skills as a SkillDirectory: all are trusted, because the user asked for their test."""

    skills: Sequence[SkillMetadata]
    authority: Authority
    journal: Writer = NO_JOURNAL

    def list_skills(self) -> list[SkillMetadata]:
        return list(self.skills)

    def get_skill(self, name: str) -> SkillMetadata:
        if (skill := self.find_skill(name)) is None:
            raise SkillNotFoundError(f"Skill '{name}' is not tested")
        return skill

    def find_skill(self, name: str) -> SkillMetadata | None:
        named = canonical(name)
        return next((skill for skill in self.skills if skill.canonical_name == named), None)

    def refusal(self, skill: SkillMetadata) -> Refusal | None:
        return None


@dataclass(frozen=True, slots=True)
class SandboxAuthority(DefaultAuthority):
    """Grants a script under test write access to its own folder, and no network, variable or other file."""

    work: Path | None = None

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        folders = (self.work,) if self.work else ()
        return Grants(withheld_env=skill.permissions.env, read_paths=folders, write_paths=folders)


def sandboxed_scripts(skills: Sequence[SkillMetadata], work: Path | None = None) -> ScriptTools:
    """Return the scripts of some skills, granted nothing but the folder of the case."""
    return ScriptTools(SkillFolder(skills, SandboxAuthority(work)))


@dataclass(frozen=True, slots=True)
class ScriptObservation:
    """Outcome of one script run."""

    exit_code: int | None
    stdout: str
    json: object
    files: Mapping[str, str]
    error: str
    """The error code of an incomplete run."""
    message: str

    def as_data(self) -> dict[str, object]:
        files = {name: text[:MOST_OUTPUT] for name, text in self.files.items()}
        return encode(replace(self, stdout=self.stdout[:MOST_OUTPUT], files=files))


_NEVER_RAN = frozenset(
    {"not_found", "invalid_name", "args_too_large", "permission_denied", "dependency_failed"}
)


def run_script_case(assigned: AssignedCase) -> tuple[Result, ScriptObservation | None]:
    """Run one case in a temporary folder; return the result and the observation, used for updating the
    file."""
    case, skill, suite = assigned.case, assigned.skill, assigned.suite
    call = case.script
    if call is None:
        raise ConfigurationError(f"The case {case.id} runs no script")
    begun = perf_counter()
    seen = None
    try:
        with workspace(case.files, (skill.base_dir, suite.parent)) as folder:
            observed = _observe(call, skill, folder, {file.path for file in case.files})
            skipped = observed.error in ("permission_denied", "dependency_failed")
            problems = [observed.message] if skipped else list(differences(call, observed))
        seen = observed
        outcome = CaseOutcome.FAILED if problems else CaseOutcome.PASSED
        outcome = CaseOutcome.SKIPPED if skipped else outcome
    except ConfigurationError as error:
        outcome, problems = CaseOutcome.ERROR, [str(error)]
    except NotJudgedError as error:
        outcome, problems = CaseOutcome.NOT_JUDGED, [str(error)]
    result = Result(
        Tier.SCRIPTS,
        skill.canonical_name,
        case.id,
        outcome,
        case.name or _title(case, call),
        problems[0] if problems else "",
        tuple(Problem(text, f"scripts/{call.script}") for text in problems),
        str(suite),
        perf_counter() - begun,
        {
            "script": call.script,
            "arguments": list(call.arguments),
            "expected": _expected(call),
            "seen": seen.as_data() if seen else None,
        },
    )
    return result, seen


def _title(case: Case, call: ScriptCall) -> str:
    """Return the name of the case followed by its command line, since several cases may have the same
    command."""
    command = f"{call.script} {' '.join(call.arguments)}".strip()
    return command if case.id.isdigit() else f"{case.id}: {command}"


def _observe(call: ScriptCall, skill: SkillMetadata, folder: Path, given: set[str]) -> ScriptObservation:
    tools = sandboxed_scripts([skill], folder)
    arguments = [argument.replace(WORK, str(folder)) for argument in call.arguments]
    answer = tools.script_run(skill.name, call.script, arguments, json=False)
    meta = answer.get("meta") or {}
    code = meta.get("exit_code") if isinstance(meta, Mapping) else None
    stdout = str(answer.get("result") or "") if answer["success"] else ""
    stdout = stdout.replace(str(folder), WORK)
    produced = {
        name: path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(plain_files(folder, _LONGEST_FILE))
        if (name := path.relative_to(folder).as_posix()) not in given
    }
    error = "" if answer["success"] else str(answer.get("error", ""))
    message = str(answer.get("message", "")).replace(str(folder), WORK)
    return ScriptObservation(
        0 if answer["success"] and code is None else code, stdout, _parsed(stdout), produced, error, message
    )


def _expected(call: ScriptCall) -> dict[str, object]:
    """Return the expectations of a case, under the field names of the observation."""
    texts = {name: text for name, text in call.produced.items() if isinstance(text, str)}
    wanted = {"exit_code": call.exit_code or 0, "json": call.json, "files": texts or None}
    return {name: value for name, value in wanted.items() if value is not None}


def _parsed(text: str) -> object:
    try:
        return parse_json(text)
    except ValueError:
        return None


def differences(call: ScriptCall, seen: ScriptObservation) -> Iterator[str]:
    """Yield differences between a script run and the expectations of its case."""
    expected_code = 0 if call.exit_code is None else call.exit_code
    if seen.error in _NEVER_RAN or seen.exit_code != expected_code:
        yield f"expected exit code {expected_code}, got {seen.exit_code}: {seen.message}"
        return
    for text in call.stdout:
        if text not in seen.stdout:
            yield f"does not print {text!r}; it prints {seen.stdout[:120]!r}"
    if call.json is not None:
        if seen.json is None:
            yield f"does not print valid JSON: {seen.stdout[:120]!r}"
        else:
            yield from subset_differences(call.json, seen.json)
    if call.schema is not None:
        yield from schema_differences(call.schema, seen.json)
    for name, expected in call.produced.items():
        yield from file_differences(name, expected, seen)


def file_differences(name: str, expected: object, seen: ScriptObservation) -> Iterator[str]:
    """Yield the differences for one file that the script should have written."""
    if name not in seen.files:
        there = ", ".join(seen.files) or "none"
        yield f"did not write {name}; files written: {there}"
        return
    text = seen.files[name]
    if isinstance(expected, str) and text != expected:
        yield f"{name} differs: expected {expected[:80]!r}, found {text[:80]!r}"
    elif isinstance(expected, Mapping):
        for part in expected.get("contains", ()):
            if part not in text:
                yield f"{name} does not contain {part!r}"
        if "json" in expected:
            yield from (f"{name}: {found}" for found in subset_differences(expected["json"], _parsed(text)))
