"""Input files of a run: shown to the script read-only, under their own names."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from skillkit.core.disk import agent_home, real_path, user_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.names import refusal
from skillkit.core.text import escape_hidden

INPUT_FOLDER = Path("/input")
MAX_INPUTS = 100
_MAX_NAME = 120
_MAX_ENTRIES = 200_000
_MAX_HIDDEN = 500
_MAX_PATH = 4096


Inputs = Mapping[str, str | os.PathLike[str]]
"""Files of the user's, by the name that a script finds each under."""


class InputsError(SkillsUseError, code="inputs"):
    """A file or folder named for a run cannot be used as its input."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file or folder of the user's that a run sees as `/input/<name>`."""

    name: str
    path: Path
    """The path without links, so that the opened file is the named one."""


def input_files(inputs: Inputs) -> tuple[InputFile, ...]:
    """Return `inputs` with real paths; InputsError names the unusable one."""
    if len(inputs) > MAX_INPUTS:
        raise InputsError(f"{len(inputs)} inputs; a run takes {MAX_INPUTS}")
    found = []
    for name, path in inputs.items():
        shown = escape_hidden(name)[:100]
        if not name or refusal(name) is not None or len(name.encode()) > _MAX_NAME:
            raise InputsError(f"Invalid input name '{shown}'; use a plain file name")
        try:
            real = Path(os.path.realpath(path, strict=True))
        except (OSError, ValueError) as error:
            raise InputsError(f"Input not found: '{shown}': {escape_hidden(str(path))}") from error
        if not (real.is_file() or real.is_dir()):
            raise InputsError(f"The input '{shown}' is neither a file nor a folder: {real}")
        found.append(InputFile(name, real))
    return tuple(found)


def named_inputs(paths: Iterable[Path]) -> dict[str, Path]:
    """Return files under their own names; of two with the same name the second has a number before it."""
    inputs: dict[str, Path] = {}
    for path in paths:
        name, number = path.name, 2
        while name in inputs:
            name, number = f"{number}-{path.name}", number + 1
        inputs[name] = path
    return inputs


def with_input_names(arguments: tuple[str, ...], inputs: Inputs) -> tuple[str, ...]:
    """Put the name inside the sandbox where an argument is, or ends in `=` and, the path of an input."""
    names: dict[str, Path] = {}
    for name, path in inputs.items():
        for spelling in (os.fspath(path), os.path.relpath(path)):
            names[spelling] = names[f"@{spelling}"] = INPUT_FOLDER / name
    return _renamed(arguments, names.get)


def check_project(folder: Path) -> Path:
    """Return the real path of a folder that may be shown whole; InputsError for one with too much in it."""
    real = real_path(folder)
    if not real.is_dir():
        raise InputsError(f"Project folder not found: {folder}")
    kept = (user_home(), agent_home())
    if any(real_path(each).is_relative_to(real) for each in kept):
        raise InputsError(
            f"{real} contains the user's home folder and cannot be shown to scripts; name a project folder"
        )
    return real


def working_project() -> Path | None:
    """Return the user's working folder if it may be shown to a script."""
    try:
        return check_project(Path.cwd())
    except (InputsError, OSError):
        return None


def named_in_project(arguments: Iterable[str], project: Path, but: Path) -> list[Path]:
    """Return the project paths that `arguments` name, relative to the working folder and outside of `but`."""
    values = (part for word in arguments for part in (word, word.partition("=")[2]))
    found = (_in_project(value, project) for value in values)
    return [path for path in found if path is not None and not path.is_relative_to(but)]


def with_project_paths(arguments: tuple[str, ...], project: Path | None) -> tuple[str, ...]:
    """Make arguments that name a granted project's paths absolute: the script starts elsewhere."""
    return arguments if project is None else _renamed(arguments, lambda word: _in_project(word, project))


def _renamed(arguments: tuple[str, ...], find: Callable[[str], Path | None]) -> tuple[str, ...]:
    """Replace an argument, or the value of an option, by the path found for it."""
    renamed = []
    for word in arguments:
        option, equals, value = word.partition("=")
        if (path := find(word)) is not None:
            renamed.append(str(path))
        else:
            path = find(value) if equals else None
            renamed.append(word if path is None else f"{option}={path}")
    return tuple(renamed)


def _in_project(word: str, project: Path) -> Path | None:
    """Return the project path an argument refers to; None for a bare word."""
    if word.startswith("-") or len(word) > _MAX_PATH or not ("/" in word or "." in word):
        return None
    try:
        path = Path(os.path.normpath(os.path.join(os.path.realpath(Path.cwd()), word)))
        return path if path.is_relative_to(project) and os.path.lexists(path) else None
    except (OSError, ValueError):
        return None


def find_hidden(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Return everything beneath `folder` that `patterns` hide, including targets of links of such a name."""
    hidden = [Path(path) for path in _matching(os.fspath(folder), patterns)]
    hidden += [real for path in hidden if path.is_symlink() and (real := real_path(path)).exists()]
    found = sorted({path for path in hidden if not path.is_symlink() and path.is_relative_to(folder)})
    if len(found) > _MAX_HIDDEN:
        raise InputsError(f"{folder} has more than {_MAX_HIDDEN} files to hide; name a smaller folder")
    return found


def _matching(folder: str, patterns: tuple[str, ...]) -> Iterator[str]:
    waiting = [folder]
    entries = 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    entries += 1
                    if entries > _MAX_ENTRIES:
                        raise InputsError(
                            f"{folder} has more than {_MAX_ENTRIES:,} files; name a smaller folder"
                        )
                    relative = os.path.relpath(entry.path, folder)
                    if any(_hides(pattern, entry.name, relative) for pattern in patterns):
                        yield entry.path
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # a folder that we cannot list the script cannot list either


def _hides(pattern: str, name: str, path: str) -> bool:
    """Whether a pattern matches: `*.pem` by name, `.git/config` by the end of the path."""
    pattern = pattern.lower()
    if "/" not in pattern:
        return fnmatchcase(name.lower(), pattern)
    return path.lower() == pattern or fnmatchcase(path.lower(), f"*/{pattern}")
