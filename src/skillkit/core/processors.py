"""The one place where instructions are rendered: placeholders, arguments, commands of other clients."""

import logging
import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

from skillkit.core.disk import user_home
from skillkit.core.exceptions import ArgumentProcessingError, SizeLimitExceededError
from skillkit.core.lazy_names import older_names
from skillkit.core.models import SkillMetadata

logger = logging.getLogger(__name__)

_TOKEN = re.compile(  # starts with a character set, so that the text between tokens is skipped fast
    r"[$\\{](?:(?<=\{)(?P<base>baseDir\})"
    r"|(?<=\$)(?:(?P<literal>\$ARGUMENTS)|\{CLAUDE_(?P<variable>[A-Z_]+)\})"
    r"|(?:(?<=\$)|(?<=\\)(?<!\\\\)(?P<escape>\$))(?:(?P<all>ARGUMENTS)(?:\[(?P<index>[0-9]+)\])?"
    r"|(?P<position>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)))"
)
_INDEXED = re.compile(r"\$ARGUMENTS\[[0-9]+\]")
SESSION_ID = "${CLAUDE_SESSION_ID}"
_MAX_QUOTED = 65_536
"""Longer arguments are split at white space alone: reading quotes takes time."""


@dataclass(frozen=True, slots=True)
class RenderContext:
    """Values of placeholders in instructions; an empty one leaves its placeholder unchanged."""

    argument_names: tuple[str, ...] = ()
    skill_dir: str = ""
    project_dir: str = ""
    plugin_root: str = ""
    plugin_data: str = ""
    session_id: str = ""
    effort: str = ""
    """The effort that the skill asks for; that of the conversation is unknown here."""
    argument_hint: str = ""

    @staticmethod
    def of(skill: SkillMetadata, project_dir: Path, session_id: str = "") -> "RenderContext":
        plugin = re.sub(r"[^A-Za-z0-9_-]", "-", skill.plugin_id or skill.plugin_name or "")
        return RenderContext(
            skill.argument_names,
            str(skill.base_dir),
            str(project_dir),
            str(skill.plugin_root or ""),
            str(user_home() / ".claude" / "plugins" / "data" / plugin) if plugin else "",
            session_id,
            skill.effort or "",
            skill.argument_hint or "",
        )


NOWHERE = RenderContext()


def replace_placeholders(body: str, arguments: str, around: RenderContext) -> tuple[str, bool]:
    """Return `body` with its placeholders replaced, and whether `$ARGUMENTS` was among them."""
    if "$" not in body and "{baseDir}" not in body:
        return body, False
    # Where a skill declares no arguments, `$0`, `$1` … are shell text.
    positional = bool(around.argument_names or around.argument_hint or _INDEXED.search(body))
    replacing = _Substitution(arguments, around, positional)
    return _TOKEN.sub(replacing.value, body), replacing.placed


class _Substitution:
    """One pass over a body."""

    def __init__(self, arguments: str, around: RenderContext, positional: bool) -> None:
        self._arguments = arguments
        self._around = around
        self._positional = positional
        self.placed = False

    @cached_property
    def _words(self) -> list[str]:
        """The arguments, split like a shell does."""
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


COMMAND = re.compile(
    r"(?:^|(?<=\s))!`(?P<inline>[^`\n]+)`|^```![^\S\n]*\n(?P<block>.*?)^```", re.MULTILINE | re.DOTALL
)
FILE = re.compile(
    r"(?:^|(?<=\s))@(?P<path>(?:\.{1,2}/|~/|/)?(?:[\w.-]+/)*[\w-][\w.-]*"
    r"\.(?:md|txt|json|ya?ml|toml|csv|py|sh|js|ts|xml|html))(?![\w/-])",
    re.MULTILINE,
)


def commands_in(text: str) -> list[str]:
    """Return the commands that other clients would run when they load these instructions."""
    return [match["inline"] or match["block"].strip() for match in COMMAND.finditer(text)]


def files_in(text: str) -> list[str]:
    """Return the files that other clients would attach to these instructions."""
    return [match["path"] for match in FILE.finditer(text)]


MAX_ARGUMENT_BYTES = 1_000_000
PLACEHOLDER = "$ARGUMENTS"
_MISSPELLED = re.compile(r"\$(?:arguments|Arguments|ARGUMENT)\b|\$ ARGUMENTS\b|\$\{ARGUMENTS\}")

# Logged, never refused: plain look-ups, so that no argument costs time.
_SUSPICIOUS = {
    "../": "path traversal (../)",
    "..\\": "path traversal (..\\)",
    "<script": "possible cross-site scripting",
    "javascript:": "javascript: address",
    "!!python": "YAML code execution tag",
    "${": "shell variable expansion",
    "$(": "shell command substitution",
    "; rm ": "shell command",
}


def render(
    body: str,
    base_directory: str | PathLike[str],
    arguments: str | None = "",
    skill_name: str = "",
    around: RenderContext = NOWHERE,
) -> str:
    """Render tier 2: the base directory, then the instructions with the arguments substituted."""
    return header(base_directory) + substitute(body, arguments, skill_name, around)


def header(base_directory: str | PathLike[str]) -> str:
    return f"Base directory for this skill: {fspath(base_directory)}\n\n"


def substitute(
    body: str, arguments: str | None, skill_name: str = "", around: RenderContext = NOWHERE
) -> str:
    """Replace the placeholders in `body`; append the arguments if it has no `$ARGUMENTS`.

    `$$ARGUMENTS` is a literal `$ARGUMENTS`. The arguments are never expanded again.
    """
    arguments = checked(arguments, skill_name)
    if PLACEHOLDER not in body and "$" in body and _MISSPELLED.search(body):
        logger.info(
            "Skill '%s' has something close to $ARGUMENTS; only that exact spelling counts", skill_name
        )
    text, placed = replace_placeholders(body, arguments, around)
    return text if placed or not arguments else f"{text.rstrip(chr(10))}\n\nARGUMENTS: {arguments}"


def checked(arguments: str | None, skill_name: str = "") -> str:
    """Return `arguments` within the size limit; None means no arguments."""
    if not arguments:
        return ""
    if not isinstance(arguments, str):
        raise ArgumentProcessingError(
            f"Arguments of skill '{skill_name}' must be text, got {type(arguments).__name__}"
        )
    # Only a text longer than a quarter of the limit can be over it once encoded.
    if len(arguments) * 4 > MAX_ARGUMENT_BYTES:
        size = len(arguments.encode("utf-8", "surrogatepass"))
        if size > MAX_ARGUMENT_BYTES:
            raise SizeLimitExceededError(
                f"Arguments of skill '{skill_name}' have {size} bytes; "
                f"the limit is {MAX_ARGUMENT_BYTES} bytes"
            )
    return arguments


def note_suspicious(arguments: str, skill_name: str) -> None:
    """Log arguments that look like an injection attack."""
    lowered = arguments.lower()
    for pattern, meaning in _SUSPICIOUS.items():
        if pattern in lowered:
            logger.warning("Suspicious pattern detected in arguments for skill '%s': %s", skill_name, meaning)


__getattr__ = older_names(__name__)
