"""The one place where instructions are rendered."""

import logging
import re
from os import PathLike, fspath

from skillkit.core.exceptions import ArgumentProcessingError, SizeLimitExceededError
from skillkit.core.older_names import older_names
from skillkit.core.substitution import NOWHERE, Surroundings, replace_placeholders

logger = logging.getLogger(__name__)

MAX_ARGUMENT_BYTES = 1_000_000
PLACEHOLDER = "$ARGUMENTS"
_MISSPELLED = re.compile(r"\$(?:arguments|Arguments|ARGUMENT)\b|\$ ARGUMENTS\b|\$\{ARGUMENTS\}")

# Worth a line in the log, never a reason to refuse: plain look-ups, so that no argument costs time.
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
    around: Surroundings = NOWHERE,
) -> str:
    """Tier 2: where the skill lives, then its instructions with the arguments in place."""
    return header(base_directory) + substitute(body, arguments, skill_name, around)


def header(base_directory: str | PathLike[str]) -> str:
    return f"Base directory for this skill: {fspath(base_directory)}\n\n"


def substitute(body: str, arguments: str | None, skill_name: str = "", around: Surroundings = NOWHERE) -> str:
    """`body` with its placeholders replaced; the arguments stand behind it where it has no `$ARGUMENTS`.

    `$$ARGUMENTS` is a literal `$ARGUMENTS`. What the arguments contain is never looked at again.
    """
    arguments = checked(arguments, skill_name)
    if PLACEHOLDER not in body and "$" in body and _MISSPELLED.search(body):
        logger.info(
            "Skill '%s' has something close to $ARGUMENTS; only that exact spelling counts", skill_name
        )
    text, placed = replace_placeholders(body, arguments, around)
    return text if placed or not arguments else f"{text.rstrip(chr(10))}\n\nARGUMENTS: {arguments}"


def checked(arguments: str | None, skill_name: str = "") -> str:
    """`arguments` as text within the size limit; None is no arguments."""
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
    """Leave a trace in the log of arguments that look like an attack on whoever uses them."""
    lowered = arguments.lower()
    for pattern, meaning in _SUSPICIOUS.items():
        if pattern in lowered:
            logger.warning("Suspicious pattern detected in arguments for skill '%s': %s", skill_name, meaning)


__getattr__ = older_names(__name__)
