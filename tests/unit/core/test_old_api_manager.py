"""Programs written for skillkit 0.1 and 0.2 run unchanged: the manager."""

import logging
from pathlib import Path

import pytest

import skillkit
from skillkit import (
    ContentLoadError,
    SizeLimitExceededError,
    Skill,
    SkillManager,
    SkillMetadata,
    SkillNotFoundError,
    SkillsUseError,
)
from skillkit.core.exceptions import AsyncStateError, ConfigurationError
from skillkit.core.models import InitMode, QualifiedSkillName, SkillSource, SourceType


def manager_of(folder: Path) -> SkillManager:
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="", plugin_dirs=[])
    manager.discover()
    return manager


@pytest.mark.parametrize("keyword", ["skill_dir", "skills_dir", "project_skill_dir"])
def test_every_spelling_of_the_folder_argument_works(keyword, skills_dir, write_skill):
    write_skill("pdf")
    manager = SkillManager(**{keyword: str(skills_dir)})
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["pdf"]


def test_the_folder_may_be_the_first_positional_argument(skills_dir, write_skill):
    write_skill("pdf")
    manager = SkillManager(skills_dir)
    manager.discover()
    assert manager.get_skill("pdf").skill_path == skills_dir / "pdf" / "SKILL.md"


def test_the_deprecated_argument_says_so(skills_dir, caplog):
    SkillManager(skill_dir=skills_dir)
    assert "'skill_dir' is deprecated" in caplog.text


def test_defaults_are_found_in_the_working_folder_and_project_wins(tmp_path, monkeypatch, write_skill):
    monkeypatch.chdir(tmp_path)
    write_skill("both", "From the project.", into=tmp_path / "skills")
    write_skill("both", "From Claude.", into=tmp_path / ".claude" / "skills")
    write_skill("only", into=tmp_path / ".claude" / "skills")
    manager = SkillManager()
    manager.discover()
    assert [(source.source_type, source.priority) for source in manager.sources] == [
        (SourceType.PROJECT, 100),
        (SourceType.ANTHROPIC, 50),
    ]
    assert [skill.name for skill in manager.list_skills()] == ["both", "only"]
    assert manager.load_skill("both").content == "From the project."
    assert manager.load_skill("anthropic:both").content == "From Claude."


def test_nothing_anywhere_is_an_empty_manager_and_a_line_in_the_log(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO)
    manager = SkillManager()
    manager.discover()
    assert manager.list_skills() == []
    assert "No skill directories found; initialized with empty skill list" in caplog.text


def test_an_empty_text_or_list_opts_out(tmp_path, monkeypatch, write_skill):
    monkeypatch.chdir(tmp_path)
    write_skill("ignored", into=tmp_path / "skills")
    write_skill("ignored-too", into=tmp_path / ".claude" / "skills")
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", plugin_dirs=[])
    manager.discover()
    assert manager.sources == []
    assert manager.list_skills() == []


@pytest.mark.parametrize("parameter", ["project_skill_dir", "anthropic_config_dir"])
def test_a_folder_that_does_not_exist_is_a_configuration_error(parameter, tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(ConfigurationError, match="does not exist") as caught:
        SkillManager(**{parameter: missing})
    assert caught.value.parameter_name == parameter
    assert caught.value.invalid_path == str(missing)
    assert parameter in str(caught.value)
    assert str(missing) in str(caught.value)


@pytest.mark.parametrize("parameter", ["plugin_dirs", "additional_search_paths"])
def test_so_is_a_missing_folder_in_a_list(parameter, tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        SkillManager(**{parameter: [tmp_path / "missing"]})
    assert caught.value.parameter_name == parameter


def test_a_bad_skill_is_logged_and_the_others_are_loaded(skills_dir, write_skill, caplog):
    write_skill("valid")
    write_skill("invalid", header="name: invalid")
    manager = manager_of(skills_dir)
    assert [skill.name for skill in manager.list_skills()] == ["valid"]
    failures = [record.message for record in caplog.records if "Failed to parse skill" in record.message]
    assert len(failures) == 1
    assert "invalid" in failures[0]
    assert "description" in failures[0]


def test_discovering_again_forgets_what_is_gone(skills_dir, write_skill):
    write_skill("stays")
    gone = write_skill("goes")
    manager = manager_of(skills_dir)
    (gone / "SKILL.md").unlink()
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["stays"]


def test_an_unknown_name_raises_and_lists_what_there_is(skills_dir, write_skill):
    write_skill("pdf")
    with pytest.raises(SkillNotFoundError, match="'nothing-like-it' not found") as caught:
        manager_of(skills_dir).get_skill("nothing-like-it")
    assert "Available skills: pdf" in str(caught.value)


def test_the_empty_name_is_not_found(skills_dir):
    with pytest.raises(SkillNotFoundError):
        manager_of(skills_dir).get_skill("")


def test_load_skill_gives_a_skill_with_content_and_invoke(skills_dir, write_skill):
    folder = write_skill("pdf", "Read $ARGUMENTS.")
    skill = manager_of(skills_dir).load_skill("pdf")
    assert isinstance(skill, Skill)
    assert isinstance(skill.metadata, SkillMetadata)
    assert skill.base_directory == folder
    assert skill.content == "Read $ARGUMENTS."
    assert skill.invoke("a.pdf") == f"Base directory for this skill: {folder}\n\nRead a.pdf."


async def test_every_way_of_invoking_gives_the_same_bytes(skills_dir, write_skill):
    write_skill("pdf", "Read $ARGUMENTS, then $$ARGUMENTS.\n")
    manager = manager_of(skills_dir)
    skill = manager.load_skill("pdf")
    texts = {
        manager.invoke_skill("pdf", "a $ARGUMENTS b"),
        await manager.ainvoke_skill("pdf", "a $ARGUMENTS b"),
        skill.invoke("a $ARGUMENTS b"),
        await skill.ainvoke("a $ARGUMENTS b"),
    }
    assert len(texts) == 1


def test_a_deleted_file_raises_when_it_is_invoked(skills_dir, write_skill):
    folder = write_skill("pdf")
    manager = manager_of(skills_dir)
    (folder / "SKILL.md").unlink()
    with pytest.raises(ContentLoadError, match="not found"):
        manager.invoke_skill("pdf")


def test_more_than_a_megabyte_of_arguments_is_refused(skills_dir, write_skill):
    write_skill("pdf")
    with pytest.raises(SizeLimitExceededError, match="1000000"):
        manager_of(skills_dir).invoke_skill("pdf", "x" * 1_000_001)


def test_suspicious_arguments_are_logged_with_the_skill_and_still_used(skills_dir, write_skill, caplog):
    write_skill("pdf", "Read $ARGUMENTS.")
    text = manager_of(skills_dir).invoke_skill("pdf", "../../etc/passwd")
    assert "../../etc/passwd" in text
    assert "Suspicious pattern detected in arguments for skill 'pdf'" in caplog.text


async def test_sync_and_async_may_be_mixed_and_the_mode_is_known(skills_dir, write_skill):
    write_skill("pdf", "Body")
    manager = SkillManager(project_skill_dir=skills_dir)
    assert manager.init_mode is InitMode.UNINITIALIZED
    with pytest.raises(SkillsUseError, match="not initialized"):
        await manager.ainvoke_skill("pdf")
    manager.discover()
    assert manager.init_mode is InitMode.SYNC
    assert (await manager.ainvoke_skill("pdf")).endswith("Body")
    await manager.adiscover()
    assert manager.init_mode is InitMode.ASYNC
    assert manager.invoke_skill("pdf").endswith("Body")
    assert issubclass(AsyncStateError, SkillsUseError)


def test_cache_methods_of_the_manager(skills_dir, write_skill):
    write_skill("one")
    write_skill("two")
    manager = manager_of(skills_dir)
    for arguments in ("a", "b", "a", None, ""):
        manager.invoke_skill("one", arguments)
    manager.invoke_skill("two", "a")
    stats = manager.get_cache_stats()
    assert (stats.size, stats.max_size, stats.hits, stats.misses) == (4, 100, 2, 4)
    assert stats.hit_rate == pytest.approx(2 / 6)
    assert manager.clear_cache("one") == 3
    assert manager.clear_cache("nobody") == 0
    assert manager.clear_cache() == 1


async def test_the_cache_can_be_cleared_from_a_coroutine(skills_dir, write_skill):
    write_skill("one")
    manager = manager_of(skills_dir)
    await manager.ainvoke_skill("one", "a")
    assert await manager.aclear_cache() == 1


def test_metadata_can_be_made_by_hand(tmp_path):
    file = tmp_path / "SKILL.md"
    file.write_text("---\nname: x\ndescription: y\n---\nBody")
    metadata = SkillMetadata("x", "y", file, ("Read",))
    assert metadata.allowed_tools == ("Read",)
    assert Skill(metadata=metadata, base_directory=tmp_path).content == "Body"


def test_metadata_has_the_fields_of_the_first_tier(skills_dir, write_skill):
    folder = write_skill("pdf", version="1.0", model="fast", disable_model_invocation="true")
    skill = manager_of(skills_dir).get_skill("pdf")
    assert (skill.version, skill.model, skill.disable_model_invocation) == ("1.0", "fast", True)
    assert (skill.file_path, skill.base_dir) == (folder / "SKILL.md", folder)
    assert (skill.source, skill.plugin_name) == (SourceType.PROJECT, None)


@pytest.mark.parametrize(
    ("text", "plugin", "skill"), [("csv", None, "csv"), ("data:csv", "data", "csv"), ("a:b:c", "a", "b:c")]
)
def test_qualified_names(text, plugin, skill):
    assert QualifiedSkillName.parse(text) == QualifiedSkillName(plugin=plugin, skill=skill)


@pytest.mark.parametrize("text", ["", ":csv", "data:"])
def test_malformed_qualified_names(text):
    with pytest.raises(ValueError, match="empty"):
        QualifiedSkillName.parse(text)


def test_sources_check_themselves(tmp_path):
    with pytest.raises(ValueError, match="positive"):
        SkillSource(SourceType.CUSTOM, tmp_path, 0)
    with pytest.raises(ValueError, match="plugin_name"):
        SkillSource(SourceType.PLUGIN, tmp_path, 1)


def test_every_public_name_can_be_imported_and_listed():
    for name in skillkit.__all__:
        assert getattr(skillkit, name) is not None
    assert dir(skillkit) == sorted(skillkit.__all__)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = skillkit.missing


def test_the_hierarchy_of_errors_is_the_old_one():
    parents = {
        "SkillParsingError": "SkillsUseError",
        "InvalidYAMLError": "SkillParsingError",
        "MissingRequiredFieldError": "SkillParsingError",
        "InvalidFrontmatterError": "SkillParsingError",
        "SkillInvocationError": "SkillsUseError",
        "ArgumentProcessingError": "SkillInvocationError",
        "ContentLoadError": "SkillInvocationError",
        "SkillNotFoundError": "SkillsUseError",
        "SkillSecurityError": "SkillsUseError",
        "SuspiciousInputError": "SkillSecurityError",
        "SizeLimitExceededError": "SkillSecurityError",
        "PathSecurityError": "SkillSecurityError",
        "ConfigurationError": "SkillsUseError",
    }
    for child, parent in parents.items():
        assert getattr(skillkit, child).__bases__ == (getattr(skillkit, parent),)
