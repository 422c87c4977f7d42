"""Every name that programs written for 0.1 and 0.2 import is where it was."""

import importlib
import inspect

import pytest

import skillkit
from skillkit.core.models import InitMode

NAMES = {
    "skillkit": """SkillManager Skill SkillMetadata FilePathResolver SkillsUseError SkillParsingError
        InvalidYAMLError MissingRequiredFieldError InvalidFrontmatterError SkillInvocationError
        ArgumentProcessingError ContentLoadError SkillNotFoundError SkillSecurityError SuspiciousInputError
        SizeLimitExceededError PathSecurityError __version__""",
    "skillkit.core.discovery": "SkillDiscovery discover_plugin_manifest",
    "skillkit.core.parser": "SkillParser parse_plugin_manifest MAX_MANIFEST_SIZE",
    "skillkit.core.models": """SourceType InitMode SkillSource PluginManifest QualifiedSkillName ContentCache
        CacheStats""",
    "skillkit.core.path_resolver": "FilePathResolver",
    "skillkit.core.processors": """ContentProcessor BaseDirectoryProcessor ArgumentSubstitutionProcessor
        CompositeProcessor normalize_arguments""",
    "skillkit.core.exceptions": """ConfigurationError AsyncStateError PluginError ManifestNotFoundError
        ManifestParseError ManifestValidationError""",
    "skillkit.integrations.langchain": "create_langchain_tools SkillInput",
}
METHODS = {
    "skillkit.SkillManager": """discover adiscover list_skills get_skill load_skill invoke_skill ainvoke_skill
        clear_cache aclear_cache get_cache_stats""",
    "skillkit.Skill": "content invoke ainvoke",
    "skillkit.core.discovery.SkillDiscovery": """scan_directory ascan_directory find_skill_files
        afind_skill_files discover_skills adiscover_skills""",
    "skillkit.core.parser.SkillParser": "parse_skill_file",
    "skillkit.core.path_resolver.FilePathResolver": "resolve_path",
    "skillkit.core.processors.ContentProcessor": "process",
    "skillkit.core.models.QualifiedSkillName": "parse",
}
PARAMETERS = {
    "skillkit.SkillManager": """skill_dir project_skill_dir anthropic_config_dir plugin_dirs
        additional_search_paths max_cache_size""",
    "skillkit.SkillMetadata": """name description skill_path allowed_tools version model
        disable_model_invocation source plugin_name""",
    "skillkit.core.models.PluginManifest": """name version description author skills manifest_path
        manifest_version display_name homepage repository""",
    "skillkit.core.models.SkillSource": "source_type directory priority plugin_name plugin_manifest",
    "skillkit.core.models.CacheStats": "size max_size hits misses",
}


def named(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    "path", [f"{module}.{name}" for module, names in NAMES.items() for name in names.split()]
)
def test_a_name_can_be_imported(path: str) -> None:
    assert named(path) is not None


@pytest.mark.parametrize("path", METHODS)
def test_a_class_has_its_methods(path: str) -> None:
    missing = [name for name in METHODS[path].split() if not hasattr(named(path), name)]
    assert missing == []


def test_a_manager_says_how_it_was_filled() -> None:
    manager = skillkit.SkillManager("", anthropic_config_dir="")
    assert manager.init_mode is InitMode.UNINITIALIZED
    assert list(manager.sources) == []


@pytest.mark.parametrize("path", PARAMETERS)
def test_arguments_keep_their_names_and_order(path: str) -> None:
    wanted = PARAMETERS[path].split()
    found = [name for name in inspect.signature(named(path)).parameters if name in wanted]
    assert found == wanted
