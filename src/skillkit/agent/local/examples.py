"""Examples of a skill's use: eval cases that name a call, command lines, usage of its scripts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.agent.local.reply import Call
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.evaluation.cases import CheckKind
from skillkit.evaluation.discovery import find_suites
from skillkit.matching import SkillMatcher
from skillkit.matching.lexical import read_body
from skillkit.matching.terms import terms
from skillkit.scripts.catalogue import Script, find_script, find_scripts
from skillkit.scripts.script_help import written_help_of

NEAREST = 4
MOST_LINES = 12
LONGEST_LINE = 100
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Example:
    """A request and the matching call."""

    request: str
    call: Call


def examples_of(skill: SkillMetadata) -> list[Example]:
    """Return the cases of the skill's `evals` folder that name one call with its arguments."""
    folder = skill.base_dir / "evals"
    if not folder.is_dir():
        return []
    return [
        Example(case.prompts[0], Call(check.values[0], dict(check.data[0])))
        for suite in find_suites([folder], skill.name).suites
        for case in suite.cases
        for check in case.checks
        if check.kind is CheckKind.TOOL_CALLS
        and len(case.prompts) == len(check.values) == 1
        and isinstance(check.data, list)
        and isinstance(check.data[0], Mapping)
    ]


def nearest(request: str, examples: Sequence[Example]) -> list[Example]:
    """Return the examples that the matcher ranks nearest to a request, the nearest last."""
    by_number = {str(number): example for number, example in enumerate(examples)}
    asked = [SkillMetadata(number, each.request, Path(number)) for number, each in by_number.items()]
    ranked = SkillMatcher(asked).rank(request, NEAREST)
    return [by_number[match.skill.name] for match in reversed(ranked)]


def brief(skill: SkillMetadata, manager: SkillManager, request: str) -> str:
    """Return a summary for a skill whose text is too long: scripts, nearest commands, files."""
    lines = [f"Skill {skill.name}: {skill.description}"]
    lines += [f"script {usage(skill, script)}" for script in find_scripts(skill)][:MOST_LINES]
    lines += [f"command {line}" for line in _nearest_lines(request, command_lines(skill))]
    lines += [f"file {path}" for path in files_of(skill, manager)][:MOST_LINES]
    return "\n".join(line[:LONGEST_LINE] for line in lines)


def usage(skill: SkillMetadata, script: Script) -> str:
    """Return the usage line of a script, or its name."""
    written = written_help_of(skill, script)
    return f"{script.name}: {written.usage}" if written is not None and written.usage else script.name


def help_text(skill: SkillMetadata, name: str) -> str:
    """Return the help text of a script."""
    script = find_script(skill, name)
    written = written_help_of(skill, script) if script is not None else None
    return written.text if written is not None else ""


def command_lines(skill: SkillMetadata) -> list[str]:
    """Return the lines of fenced blocks of the SKILL.md that name a script of the skill."""
    names = [script.file for script in find_scripts(skill)]
    try:
        blocks = _FENCED.findall(read_body(skill))
    except (SkillsUseError, OSError, UnicodeDecodeError):
        return []
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in dict.fromkeys(lines) if any(name in line for name in names)]


def files_of(skill: SkillMetadata, manager: SkillManager) -> list[str]:
    """Return the readable files of a skill, without its code and tests."""
    try:
        found = [resource.path for resource in manager.list_resources(skill.name)]
    except (SkillsUseError, OSError):
        found = []
    code = {"scripts", "toolsets", "evals"}
    return [skill.skill_path.name, *(path for path in found if Path(path).parts[0] not in code)]


def _nearest_lines(request: str, lines: Sequence[str]) -> list[str]:
    asked = set(terms(request))
    return sorted(lines, key=lambda line: -len(asked & set(terms(line))))[:NEAREST]
