"""The command line of a script, checked: only what the system can pass on."""

import os
from collections.abc import Sequence

from skillkit.core.grants import Limits
from skillkit.core.models import SkillMetadata
from skillkit.core.text import escape_hidden
from skillkit.scripts.catalogue import FOLDER, Script
from skillkit.scripts.exceptions import RefusedRequestError
from skillkit.scripts.imports import SkillSourceFiles, read_files

JSON = "--json"
"""The option of scripts that can print one JSON document."""
_SHOWN = 100
_INVALID, _TOO_LARGE = "invalid_arguments", "args_too_large"


def offers_json(skill: SkillMetadata, script: Script) -> bool:
    """Whether the literal `--json` occurs in a script or in a file of `scripts/` that it imports."""
    path = script.relative_path
    files = read_files(skill.base_dir, [path], (".py",))
    having = {each for each, text in files.items() if JSON.encode() in text}
    if path in having or not path.endswith(".py"):
        return path in having
    beside = {each for each in having if each.startswith(f"{FOLDER}/")}
    return bool(beside) and not beside.isdisjoint(SkillSourceFiles(files).own_files(path))


def command_line(args: object, limits: Limits, *, as_json: bool) -> tuple[str, ...]:
    """Return the arguments as strings, with `--json` if requested; raise RefusedRequestError if invalid."""
    arguments = _texts(args)
    if len(arguments) > limits.arguments:
        message = f"Too many arguments: {len(arguments)} (max {limits.arguments})"
        raise RefusedRequestError(_TOO_LARGE, message)
    size = sum(len(argument.encode("utf-8")) for argument in arguments)
    if size > limits.argument_bytes:
        message = f"Arguments too large: {size} bytes (max {limits.argument_bytes})"
        raise RefusedRequestError(_TOO_LARGE, message)
    return tuple(_with_json(arguments) if as_json else arguments)


def asks_for_help(args: object) -> bool:
    """Whether the arguments only request the script's help."""
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
        raise RefusedRequestError(_INVALID, f"args must be a list of strings; got {_shown(args)}")
    return [_text(number, argument) for number, argument in enumerate(args, 1)]


def _text(number: int, argument: object) -> str:
    if not isinstance(argument, (str, int, float, os.PathLike)):
        raise RefusedRequestError(_INVALID, f"Argument {number} is not a text: {_shown(argument)}")
    text = os.fsdecode(argument) if isinstance(argument, os.PathLike) else str(argument)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedRequestError(_INVALID, f"Argument {number} contains an unpaired surrogate") from error
    if "\0" in text:
        raise RefusedRequestError(_INVALID, f"Argument {number} contains a NUL character")
    return text


def _with_json(arguments: list[str]) -> list[str]:
    """Insert `--json` where the script's parser still reads it as an option."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if JSON in arguments[:end]:
        return arguments
    return [*arguments[:end], JSON, *arguments[end:]]


def _shown(value: object) -> str:
    return escape_hidden(repr(value))[:_SHOWN]
