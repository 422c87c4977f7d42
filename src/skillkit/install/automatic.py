"""Facts for the card: hooks and other automatic code, and references to missing files."""

import posixpath
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.core.mentions import linked_files, named_files, named_skills
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.processors import commands_in, files_in
from skillkit.install.tree import SKILL_FILE, SkillTree

_BY_NAME = {
    "conftest.py": "pytest",
    "sitecustomize.py": "Python",
    "usercustomize.py": "Python",
    "setup.py": "pip",
    "noxfile.py": "nox",
    "makefile": "make",
    "gnumakefile": "make",
    "justfile": "just",
    "rakefile": "rake",
    "gemfile": "bundler",
    "lefthook.yml": "lefthook",
    "taskfile.yml": "task",
    "build.rs": "cargo",
    "binding.gyp": "npm",
    ".envrc": "direnv",
    ".pre-commit-config.yaml": "pre-commit",
    ".mcp.json": "clients of MCP",
    "mcp.json": "clients of MCP",
    "hooks.json": "Claude Code",
    "devcontainer.json": "editors",
}
_BY_FOLDER = {
    (".claude", "settings.json"): "Claude Code",
    (".claude", "settings.local.json"): "Claude Code",
    (".gemini", "settings.json"): "Gemini CLI",
    (".codex", "config.toml"): "Codex",
    (".vscode", "tasks.json"): "editors",
}
_UNREADABLE = ("wrong-type", "broken-field")
"""Diagnostic codes of header fields that are ignored."""
_OF_PLUGIN = re.compile(r"\$\{CLAUDE_PLUGIN_ROOT\}/([\w./-]{0,200}\w)")
"""References to parts of a plugin outside its skills, which are not installed."""
_MAX_SHOWN = 120


def automatic_code(tree: SkillTree, metadata: SkillMetadata) -> Iterator[str]:
    """List everything that a client, package manager or test runner would run by itself."""
    if metadata.hooks:
        commands = list(_commands(metadata.hooks))
        yield from (f"hook: {_short(command)}" for command in commands)
        if not commands:
            yield f"hook: {_short(str(dict(metadata.hooks)))}"
    if any(found.code in _UNREADABLE and "'hooks'" in found.message for found in metadata.diagnostics):
        yield "hook: cannot be read"
    for path in tree.files:
        if path.rpartition("/")[2] == SKILL_FILE:
            text = _text(tree, path)
            yield from (f"!`{_short('; '.join(command.splitlines()))}`" for command in commands_in(text))
            yield from (f"@{_short(named)}" for named in files_in(text))
        yield from _of_file(tree, path)


def declared_run(metadata: SkillMetadata) -> Iterator[str]:
    """List header fields that affect execution, and mark those that skillkit ignores."""
    if metadata.context:
        known = "as a conversation of its own" if metadata.runs_alone else "not known here, inline"
        yield f"context: {_short(metadata.context)} ({known})"
    if metadata.agent:
        where = ""
        if not metadata.runs_alone:
            where = " (only with context: fork)"
        elif not metadata.agent_is_known:
            where = " (its definition in .claude/agents is not read here; the general agent runs it)"
        yield f"agent: {_short(metadata.agent)}{where}"
    if metadata.background:
        yield "background: true (here its result is waited for)"
    yield from (f"only while these files are in play: {_short(path)}" for path in metadata.paths)
    yield from (f"without the tool {_short(tool)}" for tool in metadata.disallowed_tools)
    for name in ("model", "effort", "shell"):
        if value := getattr(metadata, name):
            yield f"{name}: {_short(value)}"


def _of_file(tree: SkillTree, path: str) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    lowered = name.lower()
    if lowered == "package.json":
        yield from (f"{path}: {_short(script)}" for script in _package_scripts(_text(tree, path)))
    elif lowered.endswith(".pth"):
        yield f"{path} (Python)"
    elif (inside := folder.rpartition("/")[2]) == ".husky":
        yield f"{path} (git)"
    elif by := _BY_FOLDER.get((inside, lowered)) or _BY_NAME.get(lowered):
        yield f"{path} ({by})"


def _package_scripts(text: str) -> Iterator[str]:
    try:
        scripts = parse_json(text).get("scripts")
    except (ValueError, AttributeError):
        yield "cannot be read"
        return
    if isinstance(scripts, dict):
        yield from (f"{name}: {command}" for name, command in scripts.items())


def _commands(hooks: Any) -> Iterator[str]:
    """Yield the commands in a hooks mapping, however it is nested."""
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
    """List paths inside the skill that SKILL.md names and that do not exist."""
    text = _text(tree, SKILL_FILE)
    folders = {path.rpartition("/")[0] for path in tree.files}
    for written in (*linked_files(text), *named_files(text)):
        path = posixpath.normpath(written)
        is_folder = any(f"{folder}/".startswith(f"{path}/") for folder in folders)
        if not path.startswith("..") and path not in tree.files and not is_folder:
            yield path
    yield from (f"${{CLAUDE_PLUGIN_ROOT}}/{path}" for path in _OF_PLUGIN.findall(text))


def missing_skills(tree: SkillTree, metadata: SkillMetadata, known: Container[str]) -> Iterator[str]:
    """List skills that this one requires or names and that are not among `known`."""
    for name in (*metadata.requires.skills, *named_skills(_text(tree, SKILL_FILE))):
        canonical = canonical_name(name)
        if canonical not in known and canonical != metadata.canonical_name:
            yield canonical


def _text(tree: SkillTree, path: str) -> str:
    file = tree.files.get(path)
    return "" if file is None else file.content.decode("utf-8", "replace")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}… ({len(line)} characters)"
