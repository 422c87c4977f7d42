"""Where programs written for skillkit 0.1 and 0.2 look for names that are elsewhere now."""

from collections.abc import Callable
from importlib import import_module

_NOW_IN = {
    "skillkit.core.discovery": {"SkillDiscovery": "compat"},
    "skillkit.core.models": {"CacheStats": "cache", "ContentCache": "cache", "Skill": "skill"},
    "skillkit.core.parser": {"MAX_MANIFEST_SIZE": "plugins", "parse_plugin_manifest": "plugins"},
    "skillkit.core.processors": {
        "ArgumentSubstitutionProcessor": "compat",
        "BaseDirectoryProcessor": "compat",
        "CompositeProcessor": "compat",
        "ContentProcessor": "compat",
        "normalize_arguments": "compat",
    },
}


def older_names(module: str) -> Callable[[str], object]:
    """The `__getattr__` of `module`: its older names, loaded when they are asked for."""

    def find(name: str) -> object:
        try:
            home = _NOW_IN[module][name]
        except KeyError:
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None
        return getattr(import_module(f"skillkit.core.{home}"), name)

    return find
