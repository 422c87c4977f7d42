"""Folders that are searched, and their precedence when two have a skill of the same name."""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from skillkit.core.discovery import discover_plugin_manifest
from skillkit.core.disk import agent_home, real_path, user_home
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.models import SkillSource, SourceType
from skillkit.core.packages import package_skill_folders
from skillkit.core.plugins import plugin_id
from skillkit.core.text import escape_hidden, shown

logger = logging.getLogger(__name__)

Folder = Path | str

PRIORITY_PROJECT = 100
PRIORITY_ANTHROPIC = 50
PRIORITY_PLUGIN = 10
PRIORITY_CUSTOM = 5
PRIORITY_LAST = 1
BUNDLED = real_path(Path(__file__)).parent.parent / "bundled"
"""Where the skills that ship with skillkit lie."""


class DefaultFolder(NamedTuple):
    """A default folder of skills."""

    label: str
    source_type: SourceType
    path: str
    priority: int

    def source(self, folder: Path) -> SkillSource:
        return SkillSource(self.source_type, real_path(folder), self.priority, label=self.label)


PROJECT = DefaultFolder("project", SourceType.PROJECT, "skills", PRIORITY_PROJECT)
ANTHROPIC = DefaultFolder("anthropic", SourceType.ANTHROPIC, ".claude/skills", PRIORITY_ANTHROPIC)
INSTALLED = DefaultFolder("user", SourceType.USER, "~/.agent/skills", 40)
MORE = (
    DefaultFolder("agent", SourceType.PROJECT, ".agent/skills", 90),
    DefaultFolder("agents", SourceType.PROJECT, ".agents/skills", 80),
    INSTALLED,
    DefaultFolder("user-agents", SourceType.USER, "~/.agents/skills", 30),
    DefaultFolder("user-claude", SourceType.USER, "~/.claude/skills", 20),
)


def is_kept_as_is(path: Path) -> bool:
    """Return whether a file is part of an installed or bundled skill, which nothing but an update changes."""
    real = real_path(path)
    return any(real.is_relative_to(real_path(folder)) for folder in (BUNDLED, agent_home() / "store"))


def project_root() -> Path:
    """Return the root of the current repository; outside of one, the working folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def build_sources(
    project_skill_dir: Folder | None = None,
    anthropic_config_dir: Folder | None = None,
    plugin_dirs: Iterable[Folder] | None = None,
    additional_search_paths: Iterable[Folder] | None = None,
    *,
    only: Folder | Iterable[Folder] | None = None,
    more_defaults: bool,
    bundled: bool = False,
    packages: bool | Sequence[str] = False,
) -> list[SkillSource]:
    """Return the sources by precedence; those of equal priority keep their order."""
    sources = (
        [
            *_named(project_skill_dir, "project_skill_dir", PROJECT),
            *_named(anthropic_config_dir, "anthropic_config_dir", ANTHROPIC),
        ]
        if only is None
        else _custom(only, "only")
    )
    if more_defaults:
        for default in MORE:
            sources += _default(default)
        above = [default for default in MORE if default.source_type is SourceType.PROJECT]
        sources += _in_parents([*above, ANTHROPIC] if anthropic_config_dir is None else above)
    sources += _plugins(plugin_dirs or ())
    sources += _custom(additional_search_paths or ())
    if packages:
        sources += [
            SkillSource(SourceType.PACKAGE, folder, PRIORITY_LAST, label=f"package-{name}")
            for name, folder in package_skill_folders(None if packages is True else packages)
        ]
    if bundled and BUNDLED.is_dir():
        sources.append(SkillSource(SourceType.BUNDLED, BUNDLED, PRIORITY_LAST))
    sources.sort(key=lambda source: -source.priority)
    if not sources:
        logger.info("No skill directories found; initialized with empty skill list")
    return _distinct_labels(sources)


def _named(folder: Folder | None, parameter: str, default: DefaultFolder) -> list[SkillSource]:
    """None means the default if it exists, an empty string means none, a path must exist."""
    if folder is None:
        return _default(default)
    if folder == "":
        return []
    return [default.source(_existing(folder, parameter))]


def _default(default: DefaultFolder) -> list[SkillSource]:
    # os.path: a home folder that is missing or inaccessible has no skills.
    path = agent_home() / "skills" if default is INSTALLED else _own(default.path)
    return [default.source(path)] if os.path.isdir(path) else []


def _own(path: str) -> Path:
    return user_home() / path.removeprefix("~/") if path.startswith("~/") else Path(path)


def _in_parents(defaults: Sequence[DefaultFolder]) -> Iterator[SkillSource]:
    """Return the same folders of each parent up to the root of the repository, the nearest first."""
    here, root = Path.cwd(), project_root()
    for folder in here.parents[: len(here.parts) - len(root.parts)]:
        if folder == user_home():
            return  # its content is the user's own
        for default in defaults:
            if os.path.isdir(path := folder / default.path):
                yield default.source(path)


def _plugins(folders: Iterable[Folder]) -> list[SkillSource]:
    sources: list[SkillSource] = []
    counts: dict[str, int] = {}
    for folder in _several(folders):
        path = _existing(folder, "plugin_dirs")
        manifest = discover_plugin_manifest(path)
        name = manifest.name if manifest else path.name.replace(":", "-")
        if manifest is None:
            logger.warning(
                "No valid plugin manifest found at %s. Using directory name '%s' as plugin identifier.",
                escape_hidden(str(path)),
                escape_hidden(name),
            )
        identity = plugin_id(path, name)
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > 1:
            other = f"{name}-{counts[name]}"
            logger.warning(
                "Duplicate plugin name '%s' detected. Disambiguating as '%s' for plugin at %s.",
                escape_hidden(name),
                escape_hidden(other),
                escape_hidden(str(path)),
            )
            name = other
        sources.append(
            SkillSource(SourceType.PLUGIN, path, PRIORITY_PLUGIN, name, manifest, plugin_id=identity)
        )
    return sources


def _custom(
    folders: Folder | Iterable[Folder], parameter: str = "additional_search_paths"
) -> list[SkillSource]:
    return [
        SkillSource(
            SourceType.CUSTOM,
            _existing(folder, parameter),
            max(PRIORITY_LAST, PRIORITY_CUSTOM - position),
        )
        for position, folder in enumerate(_several(folders))
    ]


def _several(folders: Folder | Iterable[Folder]) -> list[Folder]:
    """Return a list of folders; a single folder is a list of one."""
    return [folders] if isinstance(folders, (str, Path)) else list(folders)


def _existing(folder: Folder, parameter: str) -> Path:
    path = Path(folder)
    if not os.path.isdir(path):
        raise ConfigurationError(
            f"Explicitly configured directory does not exist: {parameter}='{shown(str(path))}'. "
            "Create it, correct the path, or pass '' (for a list: []) to do without.",
            parameter_name=parameter,
            invalid_path=str(path),
        )
    return real_path(path)


def _distinct_labels(sources: list[SkillSource]) -> list[SkillSource]:
    """Append `-2`, `-3` … to duplicate labels of `sources`, so that `label:skill` is one skill."""
    taken: dict[str, int] = {}
    distinct = []
    for source in sources:
        count = taken[source.label] = taken.get(source.label, 0) + 1
        distinct.append(source if count == 1 else replace(source, label=f"{source.label}-{count}"))
    return distinct
