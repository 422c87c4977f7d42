"""Where programs written for skillkit 0.1 and 0.2 look for names that are elsewhere now."""

from collections.abc import Callable

from skillkit.core.lazy_names import lazy_names

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
    """The `__getattr__` of `module`: its older names, imported when they are asked for."""
    package, _, name = module.rpartition(".")
    return lazy_names(package, _NOW_IN[name])
