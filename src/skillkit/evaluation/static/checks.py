"""The rules of the static tier."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.resources import list_resources
from skillkit.evaluation.report import CaseOutcome, Problem, Result, Tier, headline
from skillkit.evaluation.static import files, texts
from skillkit.evaluation.static.markdown import Document, Line
from skillkit.evaluation.validation import validate_file
from skillkit.matching.matcher import SkillMatcher
from skillkit.matching.terms import terms
from skillkit.scripts.catalogue import find_scripts
from skillkit.scripts.needed_packages import KNOWN, SAME_NAME, packages_of
from skillkit.scripts.tools import ScriptTools
from skillkit.toolsets.base import ToolsetError
from skillkit.toolsets.declared import toolset_file, toolset_problems
from skillkit.toolsets.loader import definition_parts

_WARNINGS = frozenset({"extension-field", "unknown-field", "lenient-value"})
_LARGEST_TEXT = 1 << 20
_HELP_TIME = 10
_LEAST_WORDS = 4
_SAME = 0.8
"""Share of common words from which two descriptions are indistinguishable."""


@dataclass(frozen=True, slots=True)
class UndecidedCheck:
    """A check that a rule could not decide, with the reason."""

    message: str


@dataclass(eq=False)
class Examination:
    """A skill with its files, and the library around it."""

    skill: SkillMetadata
    matcher: SkillMatcher
    scripts: ScriptTools | None = None
    """Runs scripts for their `--help`; None runs nothing."""
    unreadable_suites: tuple[Problem, ...] = ()
    _documents: dict[Path, Document] = field(default_factory=dict, init=False)
    _helps: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)

    @property
    def folder(self) -> Path:
        return self.skill.base_dir

    @cached_property
    def files(self) -> tuple[Path, ...]:
        return tuple(
            self.folder / found.path for found in list_resources(self.folder, self.skill.skill_path.name)
        )

    @cached_property
    def library(self) -> set[str]:
        return {skill.canonical_name for skill in self.matcher.skills}

    def texts(self) -> Iterator[tuple[str, Document]]:
        """Yield SKILL.md and every other Markdown file within the size limit."""
        for path in (self.skill.skill_path, *self.files):
            if path.suffix.lower() == ".md" and path.stat().st_size <= _LARGEST_TEXT:
                if path not in self._documents:
                    self._documents[path] = Document.parse(path.read_text("utf-8", "replace"))
                yield path.relative_to(self.folder).as_posix(), self._documents[path]

    def all_texts(self) -> Iterator[tuple[str, Document]]:
        """Yield every text file within the size limit; a file that is not Markdown is read as plain
        lines."""
        yield from self.texts()
        for path in self.files:
            if path.suffix.lower() == ".md" or path.stat().st_size > _LARGEST_TEXT:
                continue
            if b"\0" not in (data := path.read_bytes()):
                lines = enumerate(data.decode("utf-8", "replace").splitlines(), 1)
                document = Document(tuple(Line(number, text, False) for number, text in lines))
                yield path.relative_to(self.folder).as_posix(), document

    def help_of(self, script: str) -> dict[str, Any] | None:
        """Return the result of a script's `--help`, cached; None if scripts are not run."""
        if self.scripts is None:
            return None
        if script not in self._helps:
            self._helps[script] = self.scripts.script_help(self.skill.name, script, from_text=False)
        return self._helps[script]


def _follows_specification(examined: Examination) -> Iterator[Problem]:
    """Yield all diagnostics of validation and loading."""
    said = validate_file(examined.skill.skill_path)
    for found in said.errors:
        yield Problem(f"{found.code}: {found.message}", "SKILL.md", found.line, found.code in _WARNINGS)
    imports = any(_imports_declared(examined))
    for found in said.warnings:
        if found.code == "undeclared-import" and imports:
            continue  # `scripts-imports` reports it with its line
        yield Problem(f"{found.code}: {found.message}", "SKILL.md", found.line, warning=True)


def _has_instructions(examined: Examination) -> Iterator[Problem]:
    _, document = next(iter(examined.texts()))
    if not any(line.text.strip() for line in document.lines):
        yield Problem("has no instructions below its header", "SKILL.md")


def _files_exist(examined: Examination) -> Iterator[Problem]:
    for shown, document in examined.texts():
        yield from texts.missing_files(document, shown, examined.folder)


def _skills_exist(examined: Examination) -> Iterator[Problem]:
    alone = len(examined.library) < 2
    for shown, document in examined.texts():
        for problem in texts.missing_skills(document, shown, examined.library):
            # A skill that is tested alone does not show which other skills are installed.
            yield Problem(problem.message, problem.path, problem.line, problem.warning or alone)


def _of_texts(
    rule: Callable[[Document, str], Iterable[Problem]],
    texts_of: Callable[[Examination], Iterable[tuple[str, Document]]] = Examination.texts,
) -> Callable[[Examination], Iterator[Problem]]:
    def check(examined: Examination) -> Iterator[Problem]:
        for shown, document in texts_of(examined):
            yield from rule(document, shown)

    return check


def _scripts_compile(examined: Examination) -> Iterator[Problem]:
    for path in examined.files:
        if "scripts" in path.relative_to(examined.folder).parts[:1]:
            yield from files.compile_problems(examined.folder, path)


def _imports_declared(examined: Examination) -> Iterator[Problem]:
    """Yield undeclared imports as warnings: other clients run scripts in the user's environment, which may
    have the package."""
    for each in packages_of(examined.skill, strict=True):
        if each.source in (KNOWN, SAME_NAME, ""):
            message = f"imports {each.module.partition('.')[0]}, which nothing declares"
            yield Problem(message, each.scripts[0], warning=True)


def _options_exist(examined: Examination) -> Iterator["Problem | UndecidedCheck"]:
    """Compare the options that a text passes to a script with the script's `--help`."""
    for script in find_scripts(examined.skill):
        given = [
            (shown, *found)
            for shown, document in examined.texts()
            for found in files.given_options(script, document)
        ]
        if not given:
            continue
        helped = _printed_help(examined, script.name)
        if helped is None:
            why = "nothing is run" if examined.scripts is None else "it prints no --help"
            yield UndecidedCheck(f"options of {script.relative_path} are not judged: {why}")
            continue
        seen: set[str] = set()
        for shown, line, first, options in given:
            for option in options:
                wrong = None if option in seen else files.unknown_option(option, helped)
                if wrong is not None and first:
                    of_command = _printed_help(examined, script.name, first) or ""
                    wrong = files.unknown_option(option, of_command) and wrong
                if wrong is not None:
                    seen.add(option)
                    yield Problem(f"calls {script.relative_path} with {wrong}", shown, line)


def _printed_help(examined: Examination, script: str, command: str = "") -> str | None:
    """Return a script's `--help` output, or that of one of its subcommands, run in the sandbox."""
    if examined.scripts is None:
        return None
    name = examined.skill.name
    if command:
        answer = examined.scripts.script_run(
            name, script, [command, "--help"], json=False, seconds=_HELP_TIME
        )
        return str(answer["result"]) if answer["success"] else None
    helped = examined.help_of(script)
    return str(helped["result"]["help_text"]) if helped and helped["success"] else None


def _scripts_answer_help(examined: Examination) -> Iterator[Problem]:
    if examined.scripts is None:
        return
    for script in find_scripts(examined.skill):
        is_python = script.path.suffix == ".py"
        if is_python and any(files.compile_problems(examined.folder, script.path)):
            continue
        answer = examined.help_of(script.name)
        if (
            answer is None
            or answer["success"]
            or answer.get("error") in ("dependency_failed", "permission_denied")
        ):
            continue
        message = str(answer.get("message", "")).strip()
        if "ModuleNotFoundError" in message:
            continue  # undeclared imports are reported by another rule
        # A script may not parse options, or may need a program that is not installed.
        hangs = answer.get("error") == "timeout"
        said = message.splitlines()[-1][:200] if message else ""
        yield Problem(f"does not answer --help: {said}", script.relative_path, warning=not hangs)


def _data_is_whole(examined: Examination) -> Iterator[Problem]:
    for path in examined.files:
        if path.is_file():
            yield from files.broken_data(examined.folder, path)


def _toolsets_load(examined: Examination) -> Iterator[Problem]:
    """Yield what keeps the header's toolsets from loading; nothing is imported."""
    skill = examined.skill
    yield from (Problem(message, "SKILL.md") for message in toolset_problems(skill))
    for definition in skill.toolsets:
        with suppress(ToolsetError):
            module, name = definition_parts(skill, definition)
            if (path := toolset_file(skill, module)) is not None:
                yield from files.class_problems(examined.folder, path, name)


def _description_room(examined: Examination) -> Iterator[Problem]:
    """Yield a description that is too short, or that another one duplicates."""
    skill, matcher = examined.skill, examined.matcher
    own = set(terms(skill.description))
    if len(own) < _LEAST_WORDS:
        yield Problem(
            f"the description has {len(own)} distinctive word{'s' * (len(own) != 1)}; say "
            "what the skill does and when to use it",
            "SKILL.md",
        )
        return
    for match in matcher.rank(skill.description, 4):
        other = match.skill
        if other.canonical_name == skill.canonical_name:
            continue
        theirs = set(terms(other.description))
        common = len(own & theirs) / max(1, len(own | theirs))
        if common >= _SAME:
            yield Problem(
                f"the description says the same as that of {other.name}: {common:.0%} of the words",
                "SKILL.md",
            )
            return
    for match in matcher.rank(skill.description, 1):
        if match.skill.canonical_name != skill.canonical_name:
            yield Problem(
                f"{match.skill.name} wins for the words of this description ({'; '.join(match.reasons[:2])})",
                "SKILL.md",
                warning=True,
            )


RULES: dict[str, Callable[[Examination], Iterable[Problem | UndecidedCheck]]] = {
    "specification": _follows_specification,
    "instructions": _has_instructions,
    "files-exist": _files_exist,
    "headings-exist": _of_texts(texts.missing_anchors),
    "skills-exist": _skills_exist,
    "hidden-characters": _of_texts(texts.hidden_characters),
    "code-blocks-closed": _of_texts(texts.open_code_block),
    "finished": _of_texts(texts.leftovers),
    "no-comments": _of_texts(texts.comments),
    "no-secrets": _of_texts(texts.secrets, Examination.all_texts),
    "no-local-paths": _of_texts(texts.local_paths, Examination.all_texts),
    "scripts-compile": _scripts_compile,
    "scripts-imports": _imports_declared,
    "scripts-options": _options_exist,
    "scripts-help": _scripts_answer_help,
    "toolsets": _toolsets_load,
    "data-files": _data_is_whole,
    "description": _description_room,
    "evaluations": lambda examined: examined.unreadable_suites,
}
"""Rules by their name in reports."""


def examine(examined: Examination, rule: str) -> Result:
    """Return the result of one rule."""
    begun = perf_counter()
    try:
        found = tuple(RULES[rule](examined))
    except (OSError, SkillsUseError) as error:
        return Result(Tier.STATIC, examined.skill.canonical_name, rule, CaseOutcome.ERROR, rule, str(error))
    problems = tuple(each for each in found if isinstance(each, Problem))
    unjudged = [each.message for each in found if isinstance(each, UndecidedCheck)]
    if problems:
        outcome = CaseOutcome.WARNED if all(each.warning for each in problems) else CaseOutcome.FAILED
    else:
        outcome = CaseOutcome.NOT_JUDGED if unjudged else CaseOutcome.PASSED
    message = "; ".join([headline(problems), *unjudged] if problems else unjudged)
    spent = perf_counter() - begun
    return Result(
        Tier.STATIC, examined.skill.canonical_name, rule, outcome, rule, message, problems, seconds=spent
    )
