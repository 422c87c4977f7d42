"""The command line of a script: what a caller gave, as the system can pass it on."""

import os
from collections.abc import Sequence

from skillkit.core.grants import Limits
from skillkit.core.models import SkillMetadata
from skillkit.core.text import escape_hidden
from skillkit.scripts.catalogue import FOLDER, Script
from skillkit.scripts.imports import OwnSources, read_files

JSON = "--json"
"""The option of scripts that can print one JSON document."""
_SHOWN = 100


class ArgumentsError(ValueError):
    """Arguments that cannot be passed on; `code` is the error that a caller gets."""

    def __init__(self, message: str, code: str = "invalid_arguments") -> None:
        super().__init__(message)
        self.code = code


def offers_json(skill: SkillMetadata, script: Script) -> bool:
    """Whether the literal `--json` occurs in a script or in a file of `scripts/` that it imports."""
    path = script.relative_path
    files = read_files(skill.base_dir, [path], (".py",))
    having = {each for each, text in files.items() if JSON.encode() in text}
    if path in having or not path.endswith(".py"):
        return path in having
    beside = {each for each in having if each.startswith(f"{FOLDER}/")}
    return bool(beside) and not beside.isdisjoint(OwnSources(files).own_files(path))


def command_line(args: object, limits: Limits, *, as_json: bool) -> tuple[str, ...]:
    """Return the arguments as texts, with `--json` if it is wanted; ArgumentsError says what is wrong."""
    arguments = _texts(args)
    if len(arguments) > limits.arguments:
        message = f"Too many arguments: {len(arguments)} (max {limits.arguments})"
        raise ArgumentsError(message, "args_too_large")
    size = sum(len(argument.encode("utf-8")) for argument in arguments)
    if size > limits.argument_bytes:
        message = f"Arguments too large: {size} bytes (max {limits.argument_bytes})"
        raise ArgumentsError(message, "args_too_large")
    return tuple(_with_json(arguments) if as_json else arguments)


def asks_for_help(args: object) -> bool:
    """Whether the only thing that is asked of a script is its help."""
    given = [args] if isinstance(args, str) else args
    if not isinstance(given, Sequence):
        return False
    return [each for each in given if each != JSON] in (["--help"], ["-h"])


def _texts(args: object) -> list[str]:
    if args is None:
        return []
    if isinstance(args, str):
        args = [args]
    if not isinstance(args, Sequence) or isinstance(args, (bytes, bytearray)):
        raise ArgumentsError(f"args must be a list of texts; got {_shown(args)}")
    return [_text(number, argument) for number, argument in enumerate(args, 1)]


def _text(number: int, argument: object) -> str:
    if not isinstance(argument, (str, int, float, os.PathLike)):
        raise ArgumentsError(f"Argument {number} is not a text: {_shown(argument)}")
    text = os.fsdecode(argument) if isinstance(argument, os.PathLike) else str(argument)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError(f"Argument {number} holds half a character") from error
    if "\0" in text:
        raise ArgumentsError(f"Argument {number} holds a NUL character")
    return text


def _with_json(arguments: list[str]) -> list[str]:
    """`--json` where the script's parser will still take it for an option."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if JSON in arguments[:end]:
        return arguments
    return [*arguments[:end], JSON, *arguments[end:]]


def _shown(value: object) -> str:
    return escape_hidden(repr(value))[:_SHOWN]
