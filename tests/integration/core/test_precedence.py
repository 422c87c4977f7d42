"""Which skill has a name, which may be used, and what is said about the others."""

import json
import logging
import os
from pathlib import Path

import pytest
from discovered import codes, make_manager, names

from skillkit import SkillManager, SkillMetadata
from skillkit.core import walk
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.availability import Refusal
from skillkit.core.discovery import SkillDiscovery
from skillkit.core.exceptions import ConfigurationError, SkillNotFoundError
from skillkit.core.models import Severity, SkillSource, SourceType

# Precedence


def test_precedence_decides_and_the_shadowed_stay_reachable(
    tmp_path: Path,
    write_skill,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    own_home: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    plugin, custom = tmp_path / "plugin", tmp_path / "custom"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(
        json.dumps({"name": "tools", "version": "1.0.0", "description": "d", "author": "A"})
    )
    places = {
        "project": project / "skills",
        "agent": project / ".agent" / "skills",
        "agents": project / ".agents" / "skills",
        "anthropic": project / ".claude" / "skills",
        "user": own_home / ".agent" / "skills",
        "user-agents": own_home / ".agents" / "skills",
        "user-claude": own_home / ".claude" / "skills",
        "tools": plugin / "skills",
        "custom": custom,
    }
    for label, folder in places.items():
        write_skill("pdf", f"I am {label}", into=folder)
    manager = SkillManager(plugin_dirs=[plugin], additional_search_paths=[custom], default_sources=True)
    manager.discover()
    assert manager.get_skill("pdf").source_label == "project"
    for label in places:
        assert manager.invoke_skill(f"{label}:pdf").endswith(f"I am {label}")
    assert manager.list_skills(include_qualified=True) == ["pdf"] + [
        f"{label}:pdf" for label in list(places)[1:]
    ]
    assert codes(manager) == ["name-collision"] * 8
    assert "Skill name conflict detected for 'pdf'" in caplog.text
    assert manager.get_skill("tools:pdf").plugin_name == "tools"


def test_only_named_folders_are_searched_unless_the_defaults_are_asked_for(
    tmp_path: Path, write_skill, monkeypatch: pytest.MonkeyPatch, skills_dir: Path, own_home: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_skill("named", into=tmp_path / "custom")
    write_skill("users", into=own_home / ".agents" / "skills")
    only = SkillManager(additional_search_paths=[tmp_path / "custom"])
    only.discover()
    assert names(only) == ["named"]
    everything = SkillManager()
    everything.discover()
    assert names(everything) == ["users"]


def test_bundled_skills_come_last(skills_dir: Path, write_skill) -> None:
    manager = make_manager(skills_dir, bundled=True)
    bundled = Path(walk.__file__).parent.parent / "bundled"
    assert [source.source_type for source in manager.sources][1:] == [SourceType.BUNDLED] * bundled.is_dir()


def test_a_plugin_folder_that_leaves_the_plugin_is_a_diagnostic(tmp_path: Path, write_skill) -> None:
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    manifest = {"name": "p", "version": "1.0.0", "description": "d", "author": "A"}
    manifest["skills"] = ["link", "missing", "good", "good/a"]
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
    write_skill("stolen", into=tmp_path / "outside")
    (plugin / "link").symlink_to(tmp_path / "outside")
    write_skill("a", into=plugin / "good")
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", plugin_dirs=[plugin])
    manager.discover()
    assert names(manager) == ["a"]
    assert codes(manager) == ["plugin-folder"]
    [source] = manager.sources
    assert [path.parent.name for path in SkillDiscovery().discover_skills(source)] == ["a"]


def test_a_plugin_with_a_broken_manifest_is_searched_whole_and_said(tmp_path: Path, write_skill) -> None:
    plugin = tmp_path / "plugin"
    write_skill("a", into=plugin / "anywhere")
    (plugin / ".claude-plugin").mkdir()
    (plugin / ".claude-plugin" / "plugin.json").write_text("{")
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", plugin_dirs=[plugin])
    manager.discover()
    assert manager.get_skill("plugin:a")
    [found] = manager.diagnostics
    assert (found.code, found.path) == ("plugin-manifest", plugin / ".claude-plugin" / "plugin.json")
    (plugin / ".claude-plugin" / "plugin.json").unlink()
    manager.discover()
    assert manager.diagnostics == ()


def test_a_source_that_is_gone_is_said(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    write_skill("a")
    (tmp_path / "custom").mkdir()
    manager = make_manager(skills_dir, additional_search_paths=[tmp_path / "custom"])
    (tmp_path / "custom").rmdir()
    manager.discover()
    assert names(manager) == ["a"]
    [found] = manager.diagnostics
    assert (found.code, found.path) == ("unreadable", tmp_path / "custom")
    assert "gone" in found.message


def test_a_folder_that_cannot_be_listed_is_said(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("good")
    write_skill("hidden", into=skills_dir / "closed")
    real_scandir = os.scandir

    def scandir(path: str):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", scandir)
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["good"]
    [found] = manager.diagnostics
    assert (found.code, found.path.name) == ("unreadable", "closed")
    assert SkillDiscovery().find_skill_files(skills_dir) == [skills_dir / "good" / "SKILL.md"]


def test_a_skill_may_be_called_something_else(skills_dir: Path, write_skill) -> None:
    write_skill("pdf", "Body")
    write_skill("csv")
    manager = make_manager(skills_dir, rename=lambda skill: "documents" if skill.name == "pdf" else None)
    manager.discover()
    assert names(manager) == ["csv", "documents"]
    assert manager.invoke_skill("documents").endswith("Body")
    assert not manager.refresh()


# Filters and availability


def test_filters_combine(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    write_skill("pdf-extractor", description="Extract text from PDF files")
    write_skill("pdf-merger", description="Merge documents")
    write_skill("csv", description="Process PDF and CSV files", into=tmp_path / "custom")
    manager = make_manager(skills_dir, additional_search_paths=[tmp_path / "custom"])
    manager.discover()

    def filtered(**filters: object) -> list[str]:
        return [skill.name for skill in manager.list_skills(**filters)]

    assert filtered(source="project") == ["pdf-extractor", "pdf-merger"]
    assert filtered(source=SourceType.CUSTOM) == filtered(source="custom") == ["csv"]
    assert filtered(source="personal") == []
    assert filtered(name="^PDF-") == ["pdf-extractor", "pdf-merger"]
    assert filtered(keywords="pdf files") == ["csv", "pdf-extractor"]
    assert filtered(keywords=["PDF", "csv"]) == ["csv"]
    assert filtered(source="project", name="pdf", keywords="extract") == ["pdf-extractor"]
    assert manager.list_skills(True, name="csv") == ["csv"]
    with pytest.raises(ConfigurationError, match="Not a regular expression"):
        filtered(name="(")


def test_personal_means_the_users_folders(own_home: Path, write_skill) -> None:
    write_skill("mine", into=own_home / ".agent" / "skills")
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", default_sources=True)
    manager.discover()
    assert [skill.name for skill in manager.list_skills(source="personal")] == ["mine"]


@pytest.mark.parametrize(
    ("field", "loaded"),
    [
        ("min_agent_base_version: 999.0.0", False),
        ("max_agent_base_version: 0.0.1", False),
        ("min_agent_base_version: 0.0.1\nmax_agent_base_version: 999.0", True),
        ("min_agent_base_version: 0.0.1-rc.1", True),
    ],
)
def test_a_skill_for_another_version_is_not_loaded_and_says_why(
    manager: SkillManager, write_skill, field: str, loaded: bool
) -> None:
    write_skill("pdf", header=f"name: pdf\ndescription: d\n{field}")
    manager.discover()
    assert (names(manager) == ["pdf"]) is loaded
    assert (codes(manager) == ["version-range"]) is not loaded


def test_what_a_model_may_be_told_of(skills_dir: Path, write_skill) -> None:
    class SwitchedOff(DefaultAuthority):
        def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
            return Refusal("disabled", "off") if skill.name == "switched-off" else None

    write_skill("plain")
    write_skill("switched-off")
    write_skill("for-people", disable_model_invocation="true")
    write_skill("needy", header="name: needy\ndescription: d\nrequires: {commands: [no-such-command-xyz]}")
    write_skill("shell", header="name: shell\ndescription: d\nrequires: {commands: [sh]}")
    write_skill("guessed", header="name: guessed\ndescription: d\ntags: [a")
    manager = make_manager(skills_dir, authority=SwitchedOff())
    manager.discover()
    assert len(manager.list_skills()) == 5
    assert [skill.name for skill in manager.offered_skills()] == ["plain", "shell"]
    refusal = manager.refusal(manager.get_skill("needy"))
    assert refusal is not None
    assert refusal.code == "unavailable"
    assert "no-such-command-xyz" in refusal.reason
    manager = make_manager(skills_dir, authority=SwitchedOff(), offer_recovered=True)
    manager.discover()
    assert [skill.name for skill in manager.offered_skills()] == ["guessed", "plain", "shell"]
    assert manager.get_skill("guessed").recovered


def test_a_strict_manager_loads_only_what_the_specification_allows(skills_dir: Path, write_skill) -> None:
    write_skill("good", license="MIT")
    write_skill("odd", tags="x")
    manager = make_manager(skills_dir, strict=True)
    manager.discover()
    assert names(manager) == ["good"]
    assert [found.severity for found in manager.diagnostics] == [Severity.ERROR]


# Diagnostics


def test_a_bad_file_costs_a_diagnostic_and_one_line_in_the_log(
    manager: SkillManager, write_skill, caplog: pytest.LogCaptureFixture
) -> None:
    bad = write_skill("bad", header="name: bad\ndescription: &anchor d")
    write_skill("good")
    write_skill("typo", allowedTools="Read")
    with caplog.at_level(logging.WARNING, "skillkit"):
        manager.discover()
        manager.discover()
        manager.refresh()
    assert names(manager) == ["good", "typo"]
    failure = manager.diagnostics[0]
    assert (failure.path, failure.code, failure.severity) == (bad / "SKILL.md", "yaml", Severity.ERROR)
    assert failure.line == 3
    assert len([record for record in caplog.records if str(bad) in record.getMessage()]) == 1
    assert len([record for record in caplog.records if "Possible typo" in record.getMessage()]) == 1
    with pytest.raises(SkillNotFoundError):
        manager.invoke_skill("bad")


def test_what_is_only_worth_knowing_is_logged_once_and_only_to_who_wants_it(
    manager: SkillManager, write_skill, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("a", tags="x")
    with caplog.at_level(logging.INFO, "skillkit"):
        manager.discover()
    assert "'tags' is unknown" not in caplog.text
    with caplog.at_level(logging.DEBUG, "skillkit"):
        manager.discover()
        manager.refresh()
    assert caplog.text.count("'tags' is unknown") == 1


def test_a_folder_whose_name_could_forge_a_line_is_refused_and_logged_safely(
    manager: SkillManager, skills_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("evil\nERROR forged", "evil\x1b[31m", os.fsdecode(b"evil\xff")):
        (skills_dir / name).mkdir()
        (skills_dir / name / "SKILL.md").write_text("---\nname: evil\ndescription: d\n---\n")
    manager.discover()
    assert names(manager) == []
    assert codes(manager) == ["folder-name"] * 3
    for record in caplog.records:
        assert record.getMessage().isprintable()
    for found in manager.diagnostics:
        assert str(found).isprintable()


# Discovery of 0.2


async def test_the_names_of_02(skills_dir: Path, write_skill, caplog: pytest.LogCaptureFixture) -> None:
    write_skill("a")
    write_skill("b", into=skills_dir / "sub")
    (skills_dir / "x" / "y" / "z").mkdir(parents=True)
    discovery = SkillDiscovery()
    paths = [skills_dir / "a" / "SKILL.md", skills_dir / "sub" / "b" / "SKILL.md"]
    source = SkillSource(SourceType.CUSTOM, skills_dir, 1)
    assert discovery.scan_directory(skills_dir) == paths
    assert discovery.find_skill_files(skills_dir) == paths
    assert discovery.find_skill_files(skills_dir, max_depth=1) == paths[:1]
    assert discovery.discover_skills(source) == paths
    assert await discovery.ascan_directory(skills_dir) == paths
    assert await discovery.afind_skill_files(skills_dir, 1) == paths[:1]
    assert await discovery.adiscover_skills(source) == paths
    assert discovery.scan_directory(skills_dir / "missing") == []
    assert discovery.scan_directory(paths[0]) == []
    assert "not a directory" in caplog.text


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        ("{env: [NO_SUCH_VARIABLE_XYZ]}", "the variable NO_SUCH_VARIABLE_XYZ, which is not set"),
        ("{env: [HOME], commands: [sh], python: '>=3.11,<4', skills: [plain], mcp: [any]}", None),
        ("{python: '>=99'}", "Python >=99"),
        ("[no-such-skill]", "the skill 'no-such-skill', which was not found"),
    ],
)
def test_what_is_missing_is_named(skills_dir: Path, write_skill, needs: str, reason: str | None) -> None:
    write_skill("plain")
    write_skill("needy", header=f"name: needy\ndescription: d\nrequires: {needs}")
    manager = make_manager(skills_dir)
    manager.discover()
    refusal = manager.refusal(manager.get_skill("needy"))
    if reason is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert reason in refusal.reason


def test_a_skill_that_codex_starts_only_by_name_is_not_offered(skills_dir: Path, write_skill) -> None:
    folder = write_skill("explicit")
    write_skill("broken")
    (folder / "agents").mkdir()
    (skills_dir / "broken" / "agents").mkdir()
    (skills_dir / "broken" / "agents" / "openai.yaml").write_text("policy: [")
    manager = make_manager(skills_dir)
    manager.discover()
    assert [skill.name for skill in manager.offered_skills()] == ["broken", "explicit"]
    assert "openai-yaml" in codes(manager)
    (folder / "agents" / "openai.yaml").write_text(
        "interface:\n  display_name: Very  Explicit\n  short_description: s\npolicy:\n"
        "  allow_implicit_invocation: false\ndependencies:\n  tools:\n    - {type: mcp, value: github}\n"
    )
    assert manager.refresh().changed == ("project:explicit",)
    assert [skill.name for skill in manager.offered_skills()] == ["broken"]
    skill = manager.get_skill("explicit")
    assert (skill.display_name, skill.short_description) == ("Very Explicit", "s")
    assert skill.requires.mcp == ("github",)
