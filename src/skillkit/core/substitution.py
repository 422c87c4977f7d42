"""What placeholders in instructions stand for; all of them are replaced in one pass."""

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from skillkit.core.disk import user_home
from skillkit.core.models import SkillMetadata

_TOKEN = re.compile(
    r"\$(?P<literal>\$ARGUMENTS)"
    r"|(?P<escape>(?<!\\)\\)?\$(?:(?P<all>ARGUMENTS)(?:\[(?P<index>[0-9]+)\])?"
    r"|(?P<position>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*))"
    r"|\$\{CLAUDE_(?P<variable>[A-Z_]+)\}|(?P<base>\{baseDir\})"
)
_INDEXED = re.compile(r"\$ARGUMENTS\[[0-9]+\]")
SESSION_ID = "${CLAUDE_SESSION_ID}"
_MAX_QUOTED = 65_536
"""Longer arguments are split at white space alone: reading quotes takes time."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where and for whom instructions are rendered; what is empty leaves its placeholder as it is."""

    argument_names: tuple[str, ...] = ()
    skill_dir: str = ""
    project_dir: str = ""
    plugin_root: str = ""
    plugin_data: str = ""
    session_id: str = ""
    effort: str = ""
    """What the skill asks for; how much effort the conversation makes is not known here."""
    argument_hint: str = ""

    @staticmethod
    def of(skill: SkillMetadata, project_dir: Path, session_id: str = "") -> "Surroundings":
        plugin = re.sub(r"[^A-Za-z0-9_-]", "-", skill.plugin_id or skill.plugin_name or "")
        return Surroundings(
            skill.argument_names,
            str(skill.base_dir),
            str(project_dir),
            str(skill.plugin_root or ""),
            str(user_home() / ".claude" / "plugins" / "data" / plugin) if plugin else "",
            session_id,
            skill.effort or "",
            skill.argument_hint or "",
        )


NOWHERE = Surroundings()


def replace_placeholders(body: str, arguments: str, around: Surroundings) -> tuple[str, bool]:
    """`body` with its placeholders replaced, and whether `$ARGUMENTS` was among them."""
    if "$" not in body and "{baseDir}" not in body:
        return body, False
    # Where a skill declares no arguments, `$0`, `$1` … are shell text.
    positional = bool(around.argument_names or around.argument_hint or _INDEXED.search(body))
    replacing = _Replacing(arguments, around, positional)
    return _TOKEN.sub(replacing.value, body), replacing.placed


class _Replacing:
    """One pass over a body."""

    def __init__(self, arguments: str, around: Surroundings, positional: bool) -> None:
        self._arguments = arguments
        self._around = around
        self._positional = positional
        self.placed = False

    @cached_property
    def _words(self) -> list[str]:
        """The arguments one by one, as a shell would split them."""
        if len(self._arguments) <= _MAX_QUOTED:
            try:
                return shlex.split(self._arguments)
            except ValueError:  # a quote that is never closed
                pass
        return self._arguments.split()

    def value(self, match: re.Match[str]) -> str:
        token = match.group()
        if match["literal"]:
            return token[1:]
        if match["base"] or match["variable"]:
            name = (match["variable"] or "SKILL_DIR").lower()
            return getattr(self._around, name, "") or token
        name = match["name"]
        if (name and name not in self._around.argument_names) or (match["position"] and not self._positional):
            return token
        if match["escape"]:
            return token[1:]
        if name:
            return self._word(self._around.argument_names.index(name), "")
        self.placed = self.placed or match["all"] is not None
        if match["all"] and match["index"] is None:
            return self._arguments
        if match["index"]:
            return self._word(int(match["index"]), "")
        return self._word(int(match["position"]), token)

    def _word(self, position: int, missing: str) -> str:
        return self._words[position] if position < len(self._words) else missing
