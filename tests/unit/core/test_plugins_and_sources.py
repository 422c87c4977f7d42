"""Which folders are searched, by which right, and what a plugin may say about itself."""

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from skillkit.core.discovery import discover_plugin_manifest
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import (
    ConfigurationError,
    ManifestNotFoundError,
    ManifestParseError,
    ManifestValidationError,
)
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillSource, SourceType
from skillkit.core.packages import package_skill_folders
from skillkit.core.plugins import MAX_MANIFEST_SIZE, parse_plugin_manifest
from skillkit.core.sources import build_sources
from skillkit.scripts.runner import LocalRunner

GOOD = {"name": "tools", "version": "1.0.0", "description": "d", "author": {"name": "A"}}


def write_manifest(plugin: Path, content: object = None) -> Path:
    path = plugin / ".claude-plugin" / "plugin.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(json.dumps(GOOD if content is None else content))
    return path


def test_a_manifest_is_read(tmp_path: Path) -> None:
    manifest = parse_plugin_manifest(write_manifest(tmp_path, GOOD | {"author": "A", "homepage": "h"}))
    assert (manifest.name, manifest.version, manifest.author) == ("tools", "1.0.0", {"name": "A"})
    assert manifest.skills == ["skills/"]
    assert manifest.homepage == "h"
    assert parse_plugin_manifest(write_manifest(tmp_path, GOOD | {"skills": "x/"})).skills == ["x/"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "a:b"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"name": 7}, "name"),
        ({"version": "1.0"}, "version"),
        ({"version": 1}, "version"),
        ({"description": ""}, "description"),
        ({"description": "x" * 1001}, "description"),
        ({"author": 7}, "author"),
        ({"author": {}}, "author"),
        ({"skills": 7}, "skills"),
        ({"skills": ["../x"]}, "skills"),
        ({"skills": ["/x"]}, "skills"),
        ({"skills": ["\\x"]}, "skills"),
        ({"skills": ["C:x"]}, "skills"),
        ({"skills": [""]}, "skills"),
        ({"skills": [7]}, "skills"),
        ({"manifest_version": "9"}, "manifest_version"),
        ({"manifest_version": []}, "manifest_version"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(tmp_path: Path, change: dict[str, object], field: str) -> None:
    with pytest.raises(ManifestValidationError) as caught:
        parse_plugin_manifest(write_manifest(tmp_path, GOOD | change))
    assert caught.value.field_name == field


@pytest.mark.parametrize("field", ["name", "version", "description", "author"])
def test_four_fields_are_required(tmp_path: Path, field: str) -> None:
    content = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(ManifestValidationError, match=f"Missing required fields: {field}"):
        parse_plugin_manifest(write_manifest(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{", ManifestParseError),
        (b"\xff\xfe", ManifestParseError),
        (b'{"a": ' + b"9" * 10_000 + b"}", ManifestParseError),
        (b"[" * 200_000, ManifestParseError),
        (b" " * (MAX_MANIFEST_SIZE + 1), ManifestParseError),
        (b"[]", ManifestValidationError),
        (b"", ManifestParseError),
    ],
)
def test_a_manifest_that_is_not_one_is_an_error_of_ours(
    tmp_path: Path, content: bytes, kind: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    path = write_manifest(tmp_path, content)
    with pytest.raises(kind):
        parse_plugin_manifest(path)
    assert discover_plugin_manifest(tmp_path) is None
    assert str(path) in caplog.text


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    assert (
        parse_plugin_manifest(write_manifest(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD).encode())).name
        == "tools"
    )


def test_a_manifest_that_is_no_file_never_blocks(tmp_path: Path) -> None:
    with pytest.raises(ManifestNotFoundError):
        parse_plugin_manifest(tmp_path / "plugin.json")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(write_manifest(tmp_path))
    for name in ("fifo", "link", ".claude-plugin"):
        with pytest.raises(ManifestParseError):
            parse_plugin_manifest(tmp_path / name)


# Sources


def labels(sources: list[SkillSource]) -> list[tuple[str, int]]:
    return [(source.label, source.priority) for source in sources]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_defaults_are_those_that_exist_in_the_documented_order(project: Path, own_home: Path) -> None:
    assert build_sources(more_defaults=True) == []
    for folder in ("skills", ".claude/skills", ".agent/skills", ".agents/skills"):
        (project / folder).mkdir(parents=True)
    for folder in (".agent/skills", ".agents/skills", ".claude/skills"):
        (own_home / folder).mkdir(parents=True)
    assert labels(build_sources(more_defaults=True)) == [
        ("project", 100),
        ("agent", 90),
        ("agents", 80),
        ("anthropic", 50),
        ("user", 40),
        ("user-agents", 30),
        ("user-claude", 20),
    ]
    assert labels(build_sources(more_defaults=False)) == [("project", 100), ("anthropic", 50)]
    assert labels(build_sources("", "", more_defaults=False)) == []


def test_parents_are_searched_up_to_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    here = tmp_path / "outside" / "repository" / "package" / "part"
    for folder in (here, *here.parents[:3]):
        (folder / ".claude" / "skills").mkdir(parents=True)
    (here.parent.parent / ".agents" / "skills").mkdir(parents=True)
    monkeypatch.chdir(here)
    assert [source.directory for source in build_sources(more_defaults=True)] == [here / ".claude" / "skills"]
    (here.parent.parent / ".git").mkdir()
    found = [(source.label, source.directory) for source in build_sources(more_defaults=True)]
    assert found == [
        ("agents", here.parent.parent / ".agents" / "skills"),
        ("anthropic", here / ".claude" / "skills"),
        ("anthropic-2", here.parent / ".claude" / "skills"),
        ("anthropic-3", here.parent.parent / ".claude" / "skills"),
    ]
    assert build_sources(anthropic_config_dir="", more_defaults=True)[0].label == "agents"
    monkeypatch.setenv("HOME", str(here.parent))
    labels = [source.label for source in build_sources(more_defaults=True)]
    assert labels == ["anthropic", "user-claude"], "what lies in the home folder is the user's own"


def test_agent_home_moves_the_users_skills(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    assert agent_home() == own_home / ".agent"
    (tmp_path / "moved" / "skills").mkdir(parents=True)
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "moved"))
    [source] = build_sources(more_defaults=True)
    assert (source.label, source.directory) == ("user", tmp_path / "moved" / "skills")
    assert source.source_type is SourceType.USER
    monkeypatch.setenv("AGENT_HOME", "~/elsewhere")
    assert agent_home() == own_home / "elsewhere"
    assert LocalRunner().environments.folder == own_home / "elsewhere" / "environments"


def test_plugins_and_custom_folders_follow(project: Path, tmp_path: Path) -> None:
    for name in ("p1", "p2", "c1", "c2", "c3", "c4", "c5", "c6", "c7"):
        (tmp_path / name).mkdir()
    write_manifest(tmp_path / "p1")
    sources = build_sources(
        plugin_dirs=[tmp_path / "p1", str(tmp_path / "p2")],
        additional_search_paths=[tmp_path / f"c{number}" for number in range(1, 8)],
        more_defaults=False,
    )
    assert labels(sources) == [
        ("tools", 10),
        ("p2", 10),
        ("custom", 5),
        ("custom-2", 4),
        ("custom-3", 3),
        ("custom-4", 2),
        ("custom-5", 1),
        ("custom-6", 1),
        ("custom-7", 1),
    ]


def test_one_folder_alone_is_a_list_of_one(project: Path, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    sources = build_sources(
        plugin_dirs=str(tmp_path / "p"), additional_search_paths=tmp_path, more_defaults=False
    )
    assert [source.label for source in sources] == ["p", "custom"]


def test_plugins_of_one_name_are_numbered(
    project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        write_manifest(folder)
    sources = build_sources(plugin_dirs=folders, more_defaults=False)
    assert [source.plugin_name for source in sources] == ["tools", "tools-2", "tools-3"]
    assert "Duplicate plugin name 'tools'" in caplog.text


@pytest.mark.parametrize(
    "parameter", ["project_skill_dir", "anthropic_config_dir", "plugin_dirs", "additional_search_paths"]
)
def test_a_folder_that_was_named_must_exist(project: Path, tmp_path: Path, parameter: str) -> None:
    missing = tmp_path / "missing"
    value = [missing] if parameter.endswith("s") else missing
    with pytest.raises(ConfigurationError, match="does not exist") as caught:
        build_sources(**{parameter: value}, more_defaults=False)
    assert caught.value.parameter_name == parameter
    assert caught.value.invalid_path == str(missing)


def test_without_a_home_there_is_nothing_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _: (_ for _ in ()).throw(KeyError("no such user")))
    assert build_sources(more_defaults=True) == []


def test_no_sources_is_said(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "skillkit"):
        build_sources(more_defaults=True)
    assert "No skill directories found" in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"priority": 0}, "positive"),
        ({"source_type": SourceType.PLUGIN}, "plugin_name required"),
    ],
)
def test_a_source_is_checked(tmp_path: Path, change: dict[str, object], message: str) -> None:
    arguments = {"source_type": SourceType.CUSTOM, "directory": tmp_path, "priority": 1} | change
    with pytest.raises(ValueError, match=message):
        SkillSource(**arguments)


def test_the_name_of_a_plugin_folder_stays_on_its_line(tmp_path: Path, caplog) -> None:
    for name in ("a\nERROR forged", "b\nERROR forged"):
        (tmp_path / name).mkdir()
    (tmp_path / "b\nERROR forged" / ".claude-plugin").mkdir()
    (tmp_path / "b\nERROR forged" / ".claude-plugin" / "plugin.json").write_text("{")
    with caplog.at_level(logging.DEBUG, "skillkit"):
        build_sources(plugin_dirs=sorted(tmp_path.iterdir()), more_defaults=False)
    assert caplog.records
    assert not any("\n" in record.getMessage() for record in caplog.records)


# Packages


def make_package(site: Path, name: str, *, importable: bool = True) -> Path:
    folder = site / name
    (folder / ".agents" / "skills").mkdir(parents=True)
    if importable:
        (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    return folder / ".agents" / "skills"


def test_packages_ship_skills_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "site-1", tmp_path / "site-2"
    skills = make_package(first, "alpha_pkg")
    make_package(second, "alpha_pkg")
    other = make_package(second, "beta_pkg")
    make_package(first, "not-a-package")
    (first / "gamma_pkg").mkdir()
    monkeypatch.setattr(sys, "path", [str(first), str(second), str(tmp_path / "missing")])
    assert list(package_skill_folders()) == [("alpha_pkg", skills), ("beta_pkg", other)]
    assert list(package_skill_folders(["beta_pkg"])) == [("beta_pkg", other)]
    sources = build_sources("", "", packages=["alpha_pkg"], more_defaults=False)
    assert labels(sources) == [("package-alpha_pkg", 1)]
    assert sources[0].source_type is SourceType.PACKAGE
    assert labels(build_sources("", "", packages=True, more_defaults=False))[1][0] == "package-beta_pkg"


@pytest.mark.parametrize(
    "fields", [{}, {"version": "1"}, {"author": {"email": "a@example.com"}}, {"skills": [{"path": "more/"}]}]
)
def test_a_plugin_with_nothing_but_a_name_is_found_as_clients_find_it(fields, tmp_path):
    manifest = tmp_path / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"name": "office", **fields}))
    found = parse_plugin_manifest(manifest, strict=False)
    assert found.name == "office"
    assert found.skills == (["more/"] if "skills" in fields else ["skills/"])
    with pytest.raises(ManifestValidationError):
        parse_plugin_manifest(manifest)


def test_a_plugin_whose_name_has_spaces_is_found_under_one_word(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, GOOD | {"name": "My Tools "})
    assert parse_plugin_manifest(manifest, strict=False).name == "My-Tools"
    with pytest.raises(ManifestValidationError):
        parse_plugin_manifest(manifest)
    for name in ("a:b", "a/b", "a\nb", " "):
        with pytest.raises(ManifestValidationError):
            parse_plugin_manifest(write_manifest(tmp_path, GOOD | {"name": name}), strict=False)


def plugin_at(folder, name="office", **fields):
    manifest = folder / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"name": name, **fields}))
    return folder


def skill_at(folder, name, body="Text."):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n")


@pytest.mark.parametrize(
    ("place", "market", "expected"),
    [
        ("plugins/cache/acme.tools/office/1.2.0", None, "office-acme-tools"),
        ("market/plugins/office", "Acme Tools", "office-Acme-Tools"),
        ("market", "acme", "office-acme"),
        ("home/.claude/skills/office", None, "office-skills-dir"),
        ("plugins/synced/office", None, "office-synced"),
        ("elsewhere/office", None, "office-inline"),
        ("market/unlisted", "other", "office-inline"),
    ],
)
def test_the_data_folder_of_a_plugin_is_named_after_plugin_and_marketplace(place, market, expected, tmp_path):
    plugin = plugin_at(tmp_path / place)
    skill_at(plugin / "skills" / "letters", "letters", "Keep drafts in ${CLAUDE_PLUGIN_DATA}/drafts.")
    if market:
        manifest = tmp_path / "market" / ".claude-plugin" / "marketplace.json"
        manifest.parent.mkdir(exist_ok=True)
        listed = [] if market == "other" else [{"name": "office", "source": "./plugins/office"}]
        manifest.write_text(json.dumps({"name": market, "owner": {"name": "A"}, "plugins": listed}))
    manager = SkillManager("", "", plugin_dirs=[plugin])
    manager.discover()
    assert f"/.claude/plugins/data/{expected}/drafts." in manager.invoke_skill("letters")


def test_a_plugin_is_searched_in_its_skills_folder_and_in_what_its_manifest_lists(tmp_path):
    plugin = plugin_at(tmp_path / "office", skills=["./more", "./skills/letters"])
    for folder in ("skills/letters", "skills/notes", "more/tables"):
        skill_at(plugin / folder, folder.rpartition("/")[2])
    manager = SkillManager("", "", plugin_dirs=[plugin])
    manager.discover()
    assert sorted(skill.name for skill in manager.list_skills()) == ["letters", "notes", "tables"]


def test_a_plugin_without_a_skills_folder_is_one_skill(tmp_path):
    plugin = plugin_at(tmp_path / "office")
    skill_at(plugin, "letters")
    manager = SkillManager("", "", plugin_dirs=[plugin])
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["letters"]
