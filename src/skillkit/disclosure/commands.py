"""Commands and files inside instructions: `` !`command` ``, ```` ```! ```` blocks and `@file`.

Rendering never runs or reads them. This module replaces them by the output of a runner, or marks them as not
run. Only commands written in SKILL.md itself qualify: one that contains an argument is not run.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from skillkit.core.models import SkillMetadata
from skillkit.core.processors import COMMAND, FILE, RenderContext, commands_in, files_in, replace_placeholders

RunCommand = Callable[[SkillMetadata, str], tuple[bool, str]]
"""Run a command of a skill's instructions; return whether it ran, and its output or the reason."""

_MOST = 20
"""Limit of commands and files per text."""
_KEPT = 256
_ARGUMENT = "\0"


class InlineCommands:
    """Replaces commands by their output, once per activation."""

    def __init__(self, run: RunCommand | None = None) -> None:
        self._run = run
        self._known: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._lock = Lock()

    def fill(
        self, skill: SkillMetadata, text: str, raw: Callable[[], str], around: RenderContext, *key: str
    ) -> str:
        """Return `text`, rendered from `raw`, with its commands run or marked; `key` is the activation."""
        if "!`" not in text and "```!" not in text and FILE.search(text) is None:
            return text
        with self._lock:
            known = self._known.get((*key, text))
        if known is not None:
            return known
        written = raw()
        filled = _CommandFiller(skill, self._run, written, around).fill(text)
        with self._lock:
            self._known[(*key, text)] = filled
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return filled


class _CommandFiller:
    """A single pass over one text; the output of commands is not processed again."""

    def __init__(
        self, skill: SkillMetadata, run: RunCommand | None, written: str, around: RenderContext
    ) -> None:
        self._skill = skill
        self._run = run
        self._commands = {
            replace_placeholders(command, _ARGUMENT, around)[0] for command in commands_in(written)
        }
        self._files = set(files_in(written))
        self._left = _MOST

    def fill(self, text: str) -> str:
        attached: list[str] = []
        for path in dict.fromkeys(files_in(text)):
            if path in self._files:
                ran, said = self._result(f"cat -- '{path}' || exit 2")
                attached.append(f"Content of {path}:\n{said}" if ran else f"({path} was not read: {said})")
        filled = COMMAND.sub(self._replace, text)
        return "\n\n".join((filled, *attached)) if attached else filled

    def _replace(self, match: re.Match[str]) -> str:
        command = match["inline"] or match["block"].strip()
        if command not in self._commands:
            return f"{match.group()} (not run: arguments are part of the command)"
        ran, said = self._result(command)
        return said if ran else f"{match.group()} (not run: {said})"

    def _result(self, command: str) -> tuple[bool, str]:
        if self._run is None:
            return False, "commands of instructions are not run here"
        self._left -= 1
        if self._left < 0:
            return False, f"more than {_MOST} commands"
        return self._run(self._skill, command)
