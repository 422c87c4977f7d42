"""Lazy imports of a package's names, and aliases of older names."""

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package`; `homes` maps its modules to the names they define."""
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return find


_NOW_IN = {
    "discovery": {"compat": "SkillDiscovery"},
    "models": {"cache": "CacheStats ContentCache", "skill": "Skill"},
    "parser": {"plugins": "MAX_MANIFEST_SIZE parse_plugin_manifest"},
    "processors": {
        "compat": "ArgumentSubstitutionProcessor BaseDirectoryProcessor CompositeProcessor ContentProcessor "
        "normalize_arguments"
    },
}


def older_names(module: str) -> Callable[[str], object]:
    """Return a `__getattr__` for `module` that imports its older names on first use."""
    package, _, name = module.rpartition(".")
    return lazy_names(package, _NOW_IN[name])


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `module` that finds its names by an older one, with a DeprecationWarning."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{name} is now {names[name]}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find
