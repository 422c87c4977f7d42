"""How the help of a script is got: from the script, and where it prints none, from its text."""

import os
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.path_resolver import open_beneath
from skillkit.scripts.called_programs import called_program, hands_on_arguments
from skillkit.scripts.catalogue import Script, find_scripts
from skillkit.scripts.granted_requests import PreparedRun
from skillkit.scripts.payloads import Payload, failure, success
from skillkit.scripts.written_help import MAX_TEXT, WrittenHelp, find_written_help

FROM_TEXT = "text"
_NO_SUBSTITUTE = frozenset({"permission_denied"})
"""Failures that say more than any help: what was asked for may not be done."""


@dataclass(frozen=True, slots=True)
class HelpCall:
    """A question for the help of one script, and what its text says in case it prints none."""

    prepared: PreparedRun
    written: WrittenHelp | None
    """None where only what the script prints counts."""

    def steps(self) -> Generator[PreparedRun, Payload, Payload]:
        """Yield what is to be run, is sent what came of it, and returns the answer.

        A script whose text knows of no help is not started for one. One that took `--help` for an argument
        is started once more without any, if its text says that it tells its usage: then most do.
        """
        if self.written is not None and self.written.text and not self.written.knows_help:
            return self._from_text(None)
        printed = self._judged((yield self.prepared))
        request = self.prepared.request
        tells = self.written is not None and self.written.tells_usage
        if tells and printed.get("error") == "execution_failed" and not request.unsandboxed:
            told = yield replace(self.prepared, request=replace(request, arguments=()))
            printed = told if told["success"] else printed
        if printed["success"] and printed["result"]["help_text"]:
            return printed
        if printed.get("error") in _NO_SUBSTITUTE or self.written is None or not self.written.text:
            return printed
        return self._from_text(printed)

    def _judged(self, printed: Payload) -> Payload:
        """What was printed, unless it is the help of a program that took `--help` for its own.

        A script that gives all of its arguments to a program has no other help; whose it is, is said.
        """
        if not printed["success"] or self.written is None:
            return printed
        script, source = self.prepared.script, self.written.source
        program = called_program(printed["result"]["help_text"], script.file, source)
        if program is None:
            return printed
        if hands_on_arguments(program, source):
            return {
                **printed,
                "message": f"{printed['message']}; it is the help of {program}, which it calls",
            }
        reason = f"{script.name} took what asks for help as an argument of {program}: its help came"
        return failure("execution_failed", reason, printed["meta"])

    def _from_text(self, printed: Payload | None) -> Payload:
        assert self.written is not None
        result = {"help_text": self.written.text, "usage": self.written.usage, "source": FROM_TEXT}
        name = self.prepared.script.name
        if printed is None:
            said = f"{name} prints no help; this is what its text says, and nothing was run"
            return success(result, said)
        reason = "it printed nothing" if printed["success"] else printed["message"]
        said = f"{name} printed no help; this is what its text says. Why it printed none: {reason}"
        cause = {"cause": printed["cause"]} if "cause" in printed else {}
        return {**success(result, said, printed["meta"]), **cause}


def written_help_of(skill: SkillMetadata, script: Script) -> WrittenHelp | None:
    """Read what the files of a skill say of a script; None if they cannot be read."""
    try:
        content = _read(skill.base_dir, script.relative_path)
        instructions = _read(skill.base_dir, skill.skill_path.name).decode("utf-8", "replace")
    except (SkillsUseError, OSError):
        return None
    parts = (part for each in find_scripts(skill) for part in Path(each.relative_path).with_suffix("").parts)
    return find_written_help(script.file, content, instructions, frozenset(parts))


def _read(folder: Path, path: str) -> bytes:
    with open_beneath(folder, path) as descriptor:
        return os.pread(descriptor, MAX_TEXT, 0)
