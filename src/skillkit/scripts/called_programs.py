"""Whose help a script has printed: its own, or that of a program which it gave `--help` to as an argument."""

import re
import shutil

_USAGE = re.compile(r"^[ \t]*usage:[ \t]*(\S{1,200})", re.IGNORECASE | re.MULTILINE)
_INTERPRETERS = frozenset("python python3 bash sh node npx bun deno tsx uv uvx ruby perl".split())


def called_program(help_text: str, file: str, source: str) -> str | None:
    """Return the program that a printed help is of, if it is one of the machine's that the script calls."""
    found = _USAGE.search(help_text)
    if found is None:
        return None
    name = file.rpartition("/")[2]
    program = found[1].rpartition("/")[2]
    line = help_text[found.start() : help_text.find("\n", found.start()) % (len(help_text) + 1)]
    is_own = program in (name, name.rpartition(".")[0]) or program in _INTERPRETERS or line.strip() in source
    is_called = re.search(rf"(?<![\w./-]){re.escape(program)}(?![\w-])", source) is not None
    return program if is_called and not is_own and shutil.which(program) is not None else None


def hands_on_arguments(program: str, source: str) -> bool:
    """Whether the script gives all of its arguments to `program`, so that its help is the script's, too."""
    everything = r"(?:\$\{?[@*]|argv\[1:\]|argv\.slice\(2\))"
    return re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])[^\n|;&]*{everything}", source) is not None
