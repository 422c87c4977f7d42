"""What runs without being told to, and what is named and not there: facts for the card."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from skillkit.core.models import SkillMetadata
from skillkit.install.tree import SKILL_FILE, SkillTree

_INLINE_COMMAND = re.compile(r"(?:^|(?<=\s))!`([^`\n]+)`", re.M)
_FENCED_COMMANDS = re.compile(r"^```!\s*\n(.*?)^```", re.M | re.S)
_BY_NAME = {
    "conftest.py": "pytest",
    "sitecustomize.py": "Python",
    "usercustomize.py": "Python",
    "setup.py": "pip",
    "noxfile.py": "nox",
    "makefile": "make",
    "gnumakefile": "make",
    "justfile": "just",
    "taskfile.yml": "task",
    "build.rs": "cargo",
    "binding.gyp": "npm",
    ".envrc": "direnv",
    ".pre-commit-config.yaml": "pre-commit",
    ".mcp.json": "clients of MCP",
    "hooks.json": "Claude Code",
    "settings.json": "",
    "settings.local.json": "",
    "tasks.json": "",
    "devcontainer.json": "editors",
}
_IN_FOLDER = {"settings.json": ".claude", "settings.local.json": ".claude", "tasks.json": ".vscode"}
_LINK = re.compile(r"\]\(\s*<?([^)\s>#?]+)")
_NAMED_FILE = re.compile(r"`((?:scripts|references|assets|resources|templates)/[\w./-]+\.\w{1,8})`")
_MAX_SHOWN = 120
_MAX_TEXT = 1024 * 1024


def automatic_code(tree: SkillTree, metadata: SkillMetadata) -> Iterator[str]:
    """Everything that some client, package manager or test runner would run by itself."""
    hooks = metadata.extra.get("hooks")
    if hooks is not None:
        commands = list(_commands(hooks))
        yield from (f"hook: {_short(command)}" for command in commands)
        if not commands:
            yield f"hook: {_short(str(hooks))}"
    text = _text(tree, SKILL_FILE)
    yield from (f"!`{_short(command)}`" for command in _INLINE_COMMAND.findall(text))
    for block in _FENCED_COMMANDS.findall(text):
        yield f"!`{_short('; '.join(block.split(chr(10))))}`"
    for path in tree.files:
        yield from _of_file(tree, path)


def _of_file(tree: SkillTree, path: str) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    lowered = name.lower()
    if lowered == "package.json":
        yield from (f"{path}: {_short(script)}" for script in _package_scripts(_text(tree, path)))
    elif lowered.endswith(".pth"):
        yield f"{path} (Python)"
    elif folder.rpartition("/")[2] == ".husky":
        yield f"{path} (git)"
    elif lowered in _BY_NAME and (lowered not in _IN_FOLDER or folder.endswith(_IN_FOLDER[lowered])):
        by = _BY_NAME[lowered] or ("Claude Code" if folder.endswith(".claude") else "editors")
        yield f"{path} ({by})"


def _package_scripts(text: str) -> Iterator[str]:
    try:
        scripts = json.loads(text).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        yield "cannot be read"
        return
    if isinstance(scripts, dict):
        yield from (f"{name}: {command}" for name, command in scripts.items())


def _commands(hooks: Any) -> Iterator[str]:
    """The commands in a hooks mapping, however it is nested."""
    if isinstance(hooks, Mapping):
        for key, value in hooks.items():
            if key in ("command", "prompt", "url") and isinstance(value, str):
                yield value
            else:
                yield from _commands(value)
    elif isinstance(hooks, list | tuple):
        for item in hooks:
            yield from _commands(item)


def missing_files(tree: SkillTree) -> Iterator[str]:
    """Paths inside the skill that SKILL.md names and that are not there."""
    text = _text(tree, SKILL_FILE)
    folders = {path.rpartition("/")[0] for path in tree.files}
    for written in (*_LINK.findall(text), *_NAMED_FILE.findall(text)):
        if ":" in written or written.startswith(("/", "$", "{", "<", "~")):
            continue
        path = posixpath.normpath(unquote(written))
        if (
            path.startswith("..")
            or path in tree.files
            or any(f"{folder}/".startswith(f"{path}/") for folder in folders)
        ):
            continue
        if "." in path.rpartition("/")[2] or "/" in path:
            yield path


def _text(tree: SkillTree, path: str) -> str:
    file = tree.files.get(path)
    return "" if file is None else file.content[:_MAX_TEXT].decode("utf-8", "replace")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}… ({len(line)} characters)"
