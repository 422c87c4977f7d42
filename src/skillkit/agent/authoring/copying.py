"""A new skill that begins as a copy of another one."""

import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from skillkit.agent.authoring.templates import checked_name, new_folder, quoted_description
from skillkit.core.content import MAX_SKILL_BYTES
from skillkit.core.exceptions import ConfigurationError, SkillNotFoundError
from skillkit.core.foreign_json import read_plain
from skillkit.core.manager import SkillManager

_FIELD = re.compile(r"(?P<key>[A-Za-z_-]+)[ \t]*:")
_LEFT_OUT = frozenset({"__pycache__"})


def copy_skill(
    original: str, name: str, into: Path, *, description: str | None = None
) -> tuple[Path, list[str]]:
    """Copy a bundled skill, or the skill in a folder, under a new name; answers the folder and its files.

    Only regular files that are not hidden are copied, and nothing is ever overwritten.
    """
    checked_name(name)
    source = _source(original)
    try:
        text = read_plain(source / "SKILL.md", MAX_SKILL_BYTES).decode("utf-8")
    except ValueError as error:
        raise ConfigurationError(f"The SKILL.md to copy cannot be read: {error}", "from") from error
    manifest = _renamed(text, name, description)
    folder = new_folder(into, name)
    files = []
    for file in _files(source):
        path = file.relative_to(source).as_posix()
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path == "SKILL.md":
            target.write_text(manifest, encoding="utf-8")
        else:
            shutil.copyfile(file, target)
            target.chmod(0o755 if file.stat().st_mode & stat.S_IXUSR else 0o644)
        files.append(path)
    return folder, sorted(files)


def copy_python_skill(
    file: Path, name: str, into: Path, *, description: str | None = None
) -> tuple[Path, list[str]]:
    """Write the skill that a Python file defines under `name`; return its folder and its files."""
    from skillkit.toolsets.python_skills import python_skill  # not for every command

    checked_name(name)
    skill = python_skill(file, name)
    skill.description = description or skill.description
    return new_folder(into, name), skill.write(into)


def _source(original: str) -> Path:
    if (Path(original) / "SKILL.md").is_file():
        return Path(original)
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    try:
        return manager.get_skill(original).base_dir
    except SkillNotFoundError:
        names = ", ".join(skill.name for skill in manager.list_skills())
        raise ConfigurationError(
            f"There is no skill '{original}' to copy. Give the path of a skill's folder, or one of {names}.",
            "from",
        ) from None


def _files(source: Path) -> Iterator[Path]:
    for path in sorted(source.iterdir()):
        if path.name.startswith(".") or path.name in _LEFT_OUT or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _renamed(text: str, name: str, description: str | None) -> str:
    """The manifest with another name, and another description if there is one; the rest to the byte."""
    changes = {"name": f"name: {name}\n"}
    if description is not None:
        changes["description"] = f"description: {quoted_description(description)}\n"
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"][:2]
    if len(fences) < 2:
        raise ConfigurationError("The SKILL.md to copy has no header between two '---' lines.", "from")
    kept: list[str] = []
    replacing = False
    for line in lines[fences[0] + 1 : fences[1]]:
        if field := _FIELD.match(line):
            replacement = changes.pop(field["key"], None)
            replacing = replacement is not None
            if replacement is not None:
                kept.append(replacement)
        if not replacing:
            kept.append(line)
    header = [*changes.values(), *kept]
    return "".join([*lines[: fences[0] + 1], *header, *lines[fences[1] :]])
