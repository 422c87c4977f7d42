"""Programs written for skillkit 0.2 run unchanged: plugins and discovery."""

import json
import logging
from pathlib import Path

import pytest

from skillkit import SkillManager, SkillNotFoundError
from skillkit.core.discovery import SkillDiscovery, discover_plugin_manifest
from skillkit.core.exceptions import (
    ManifestNotFoundError,
    ManifestParseError,
    ManifestValidationError,
    PluginError,
)
from skillkit.core.models import SkillSource, SourceType
from skillkit.core.parser import MAX_MANIFEST_SIZE, SkillParser, parse_plugin_manifest

GOOD = {"name": "data-tools", "version": "1.0.0", "description": "Data.", "author": {"name": "Ann"}}


def write_plugin(root: Path, manifest: object = GOOD, name: str = "data-tools") -> Path:
    folder = root / name
    (folder / ".claude-plugin").mkdir(parents=True)
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / ".claude-plugin" / "plugin.json").write_text(text)
    return folder


def manager_of(*plugins: Path, **arguments: object) -> SkillManager:
    manager = SkillManager(
        **{"project_skill_dir": "", "anthropic_config_dir": "", "plugin_dirs": plugins, **arguments}
    )
    manager.discover()
    return manager


def test_skills_of_a_plugin_answer_to_both_names(tmp_path, write_skill):
    plugin = write_plugin(tmp_path)
    write_skill("csv", into=plugin / "skills")
    manager = manager_of(plugin)
    assert manager.get_skill("csv") is manager.get_skill("data-tools:csv")
    assert manager.get_skill("csv").plugin_name == "data-tools"
    assert manager.list_skills(include_qualified=True) == ["csv"]


def test_a_shadowed_skill_of_a_plugin_stays_reachable_and_is_listed(
    tmp_path, skills_dir, write_skill, caplog
):
    plugin = write_plugin(tmp_path)
    write_skill("csv", "From the plugin.", into=plugin / "skills")
    write_skill("csv", "From the project.")
    manager = manager_of(plugin, project_skill_dir=skills_dir)
    assert manager.invoke_skill("csv").endswith("From the project.")
    assert manager.invoke_skill("data-tools:csv").endswith("From the plugin.")
    assert manager.list_skills(include_qualified=True) == ["csv", "data-tools:csv"]
    assert "Skill name conflict detected for 'csv'" in caplog.text
    assert "data-tools:csv" in caplog.text


def test_the_folders_named_by_the_manifest_are_searched(tmp_path, write_skill):
    plugin = write_plugin(tmp_path, {**GOOD, "skills": ["one/", "two"]})
    write_skill("a", into=plugin / "one")
    write_skill("b", into=plugin / "two")
    write_skill("c", into=plugin / "three")
    assert [skill.name for skill in manager_of(plugin).list_skills()] == ["a", "b"]


def test_a_plugin_without_manifest_is_called_like_its_folder(tmp_path, write_skill, caplog):
    plugin = tmp_path / "plain"
    write_skill("csv", into=plugin)
    assert manager_of(plugin).get_skill("plain:csv").name == "csv"
    assert "Using directory name 'plain'" in caplog.text


def test_plugins_of_the_same_name_are_numbered(tmp_path, write_skill, caplog):
    plugins = [write_plugin(tmp_path / place) for place in ("x", "y", "z")]
    for plugin in plugins:
        write_skill("csv", plugin.parent.name, into=plugin / "skills")
    manager = manager_of(*plugins)
    assert [source.plugin_name for source in manager.sources] == [
        "data-tools",
        "data-tools-2",
        "data-tools-3",
    ]
    assert manager.invoke_skill("data-tools-3:csv").endswith("z")
    assert "Duplicate plugin name 'data-tools'" in caplog.text


def test_unknown_plugins_and_skills_of_plugins_are_told_apart(tmp_path, write_skill):
    plugin = write_plugin(tmp_path)
    write_skill("csv", into=plugin / "skills")
    manager = manager_of(plugin)
    with pytest.raises(SkillNotFoundError, match="Plugin 'other' not found"):
        manager.get_skill("other:csv")
    with pytest.raises(SkillNotFoundError, match="'xml' not found in plugin 'data-tools'"):
        manager.get_skill("data-tools:xml")


def test_a_manifest_is_read_with_its_defaults(tmp_path):
    plugin = write_plugin(tmp_path, {**GOOD, "author": "Ann", "display_name": "Data Tools"})
    manifest = parse_plugin_manifest(plugin / ".claude-plugin" / "plugin.json")
    assert (manifest.name, manifest.version, manifest.author) == ("data-tools", "1.0.0", {"name": "Ann"})
    assert (manifest.skills, manifest.manifest_version) == (["skills/"], "0.1")
    assert (manifest.display_name, manifest.homepage, manifest.repository) == ("Data Tools", None, None)
    assert discover_plugin_manifest(plugin) == manifest


@pytest.mark.parametrize("field", ["name", "version", "description", "author"])
def test_required_fields_of_a_manifest(field, tmp_path):
    plugin = write_plugin(tmp_path, {key: value for key, value in GOOD.items() if key != field})
    with pytest.raises(ManifestValidationError, match=field) as caught:
        parse_plugin_manifest(plugin / ".claude-plugin" / "plugin.json")
    assert caught.value.field_name == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "has space"),
        ("name", ""),
        ("name", 5),
        ("version", "1.0"),
        ("version", None),
        ("description", ""),
        ("description", "x" * 1001),
        ("author", {}),
        ("author", ["Ann"]),
        ("manifest_version", "9"),
        ("skills", 5),
        ("skills", [""]),
        ("skills", [5]),
        ("skills", "../outside"),
        ("skills", ["/etc"]),
        ("skills", ["\\server"]),
        ("skills", ["C:skills"]),
    ],
)
def test_values_that_a_manifest_cannot_have(field, value, tmp_path):
    plugin = write_plugin(tmp_path, {**GOOD, field: value})
    with pytest.raises(ManifestValidationError) as caught:
        parse_plugin_manifest(plugin / ".claude-plugin" / "plugin.json")
    assert caught.value.field_name == field
    assert caught.value.invalid_value is not None


def test_files_that_are_no_manifest(tmp_path):
    assert issubclass(ManifestNotFoundError, PluginError)
    with pytest.raises(ManifestNotFoundError):
        parse_plugin_manifest(tmp_path / "plugin.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(ManifestParseError, match="line 1") as caught:
        parse_plugin_manifest(broken)
    assert caught.value.manifest_path == str(broken)
    assert isinstance(caught.value.parse_error, json.JSONDecodeError)
    broken.write_bytes(b'"\xff"')
    with pytest.raises(ManifestParseError, match="UTF-8"):
        parse_plugin_manifest(broken)
    broken.write_text("[]")
    with pytest.raises(ManifestValidationError, match="JSON object"):
        parse_plugin_manifest(broken)
    broken.write_text("[" * 100_000)
    with pytest.raises(ManifestParseError, match="nested too deeply"):
        parse_plugin_manifest(broken)
    broken.write_text(" " * (MAX_MANIFEST_SIZE + 1))
    with pytest.raises(ManifestParseError, match="too large"):
        parse_plugin_manifest(broken)
    with pytest.raises(ManifestParseError, match=r"regular file|Cannot read"):
        parse_plugin_manifest(tmp_path)


def test_a_broken_manifest_is_a_warning_and_the_folder_name(tmp_path, caplog):
    plugin = write_plugin(tmp_path, "{")
    assert discover_plugin_manifest(plugin) is None
    assert str(plugin) in caplog.text
    assert discover_plugin_manifest(tmp_path) is None


async def test_discovery_lists_files_in_both_colours(skills_dir, write_skill, caplog):
    caplog.set_level(logging.DEBUG)
    a, b = write_skill("a"), write_skill("b", into=skills_dir / "group")
    files = [a / "SKILL.md", b / "SKILL.md"]
    discovery = SkillDiscovery()
    source = SkillSource(SourceType.PROJECT, skills_dir, 100)
    assert discovery.scan_directory(skills_dir) == files
    assert discovery.find_skill_files(skills_dir) == files
    assert discovery.find_skill_files(skills_dir, max_depth=1) == files[:1]
    assert discovery.discover_skills(source) == files
    assert await discovery.ascan_directory(skills_dir) == files
    assert await discovery.afind_skill_files(skills_dir) == files
    assert await discovery.adiscover_skills(source) == files
    assert discovery.scan_directory(skills_dir / "missing") == []
    assert discovery.scan_directory(a / "SKILL.md") == []
    assert "not a directory" in caplog.text


def test_any_capitalisation_of_the_file_name_is_found(skills_dir):
    (skills_dir / "lower").mkdir()
    (skills_dir / "lower" / "skill.md").write_text("---\nname: lower\ndescription: d\n---\n")
    assert SkillDiscovery().scan_directory(skills_dir) == [skills_dir / "lower" / "skill.md"]


def test_the_parser_reads_one_file(write_skill):
    folder = write_skill("pdf", allowed_tools="[Read, Write]")
    metadata = SkillParser().parse_skill_file(folder / "SKILL.md")
    assert (metadata.name, metadata.allowed_tools) == ("pdf", ("Read", "Write"))


def test_a_misspelled_field_is_pointed_out(write_skill, caplog):
    folder = write_skill("pdf", header="name: pdf\ndescription: d\nallowedTools: [Read]")
    assert SkillParser().parse_skill_file(folder / "SKILL.md").allowed_tools == ()
    assert "'allowedTools' should be 'allowed-tools'" in caplog.text
