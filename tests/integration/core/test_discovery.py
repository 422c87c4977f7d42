"""Tier 1 on real folders: what is found, in which order, and who wins."""

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from skillkit import SkillManager, SkillMetadata
from skillkit.core import walk
from skillkit.core.availability import Refusal
from skillkit.core.cache import Stamp
from skillkit.core.discovery import SkillDiscovery
from skillkit.core.exceptions import ConfigurationError, SkillNotFoundError
from skillkit.core.models import InitMode, Severity, SkillSource, SourceType


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    return make_manager(skills_dir)


def make_manager(skills_dir: Path, **arguments) -> SkillManager:
    return SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", **arguments)


def names(manager: SkillManager) -> list[str]:
    return [skill.name for skill in manager.list_skills()]


def codes(manager: SkillManager) -> list[str]:
    return [found.code for found in manager.diagnostics]


# What is found


def test_skills_are_found_sorted_with_their_metadata(manager: SkillManager, write_skill) -> None:
    for name in ("zebra", "apple", "mango"):
        write_skill(name, version="1.0", model="small", allowed_tools="Read Bash")
    assert manager.init_mode is InitMode.UNINITIALIZED
    assert manager.list_skills() == []
    manager.discover()
    assert manager.init_mode is InitMode.SYNC
    assert names(manager) == ["apple", "mango", "zebra"]
    apple = manager.get_skill("apple")
    assert apple.description == "What apple does"
    assert apple.allowed_tools == ("Read", "Bash")
    assert (apple.version, apple.model, apple.source) == ("1.0", "small", SourceType.PROJECT)
    assert apple.file_path == apple.base_dir / "SKILL.md"
    assert manager.diagnostics == ()


async def test_async_discovery_finds_the_same(skills_dir: Path, write_skill) -> None:
    for name in ("a", "b"):
        write_skill(name)
    first, second = make_manager(skills_dir), make_manager(skills_dir)
    await first.adiscover()
    second.discover()
    assert first.init_mode is InitMode.ASYNC
    assert first.list_skills() == second.list_skills()
    assert await first.arefresh() == second.refresh()


def test_order_does_not_depend_on_the_disk(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("c", "a", "b"):
        write_skill(name, header="name: same\ndescription: d")
    winners = set()
    real_scandir = os.scandir

    class Reversed:
        def __init__(self, path: str) -> None:
            self.entries = sorted(real_scandir(path), key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *_: object) -> None:
            pass

    for scandir in (real_scandir, Reversed):
        monkeypatch.setattr(os, "scandir", scandir)
        manager = make_manager(skills_dir)
        manager.discover()
        winners.add(manager.get_skill("same").skill_path)
    assert winners == {skills_dir / "a" / "SKILL.md"}


@pytest.mark.parametrize(("depth", "found"), [(0, True), (1, True), (5, True), (6, False)])
def test_skills_are_found_five_folders_deep(skills_dir: Path, write_skill, depth: int, found: bool) -> None:
    folder = skills_dir
    for level in range(1, depth):
        folder = folder / f"level-{level}"
    if depth == 0:
        (skills_dir / "SKILL.md").write_text("---\nname: deep\ndescription: d\n---\n")
    else:
        write_skill("deep", into=folder)
    manager = make_manager(skills_dir)
    manager.discover()
    assert (names(manager) == ["deep"]) is found
    assert ("depth-limit" in codes(manager)) is not found


def test_the_depth_can_be_chosen(skills_dir: Path, write_skill) -> None:
    write_skill("near", into=skills_dir / "a")
    write_skill("far", into=skills_dir / "a" / "b")
    manager = make_manager(skills_dir, max_depth=2)
    manager.discover()
    assert names(manager) == ["near"]


def test_the_number_of_folders_is_bounded_and_said(skills_dir: Path, write_skill) -> None:
    for number in range(20):
        write_skill(f"skill-{number:02}")
    manager = make_manager(skills_dir, max_folders=11)
    manager.discover()
    assert names(manager) == [f"skill-{number:02}" for number in range(10)]
    [found] = manager.diagnostics
    assert (found.code, found.path) == ("folder-limit", skills_dir)
    assert "11 folders" in found.message
    exact = make_manager(skills_dir, max_folders=21)
    exact.discover()
    assert exact.diagnostics == ()


@pytest.mark.parametrize(("limit", "value"), [("MAX_ENTRIES", 10), ("MAX_ALL_ENTRIES", 15)])
def test_a_folder_with_very_many_entries_costs_a_diagnostic(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(walk, limit, value)
    crowded = skills_dir / "z-crowded"
    crowded.mkdir()
    for number in range(50):
        (crowded / f"{number}.txt").touch()
    write_skill("good")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["good"]
    [found] = manager.diagnostics
    assert (found.code, found.path) == ("entry-limit", crowded)


@pytest.mark.parametrize(
    "folder", [".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "site-packages", ".tox"]
)
def test_folders_of_tools_are_skipped(skills_dir: Path, write_skill, folder: str) -> None:
    write_skill("hidden", into=skills_dir / folder)
    write_skill("seen")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["seen"]


def test_a_virtual_environment_is_known_by_its_mark(skills_dir: Path, write_skill) -> None:
    write_skill("hidden", into=skills_dir / "my-environment" / "lib")
    (skills_dir / "my-environment" / "pyvenv.cfg").touch()
    (skills_dir / "pyvenv.cfg").touch()
    write_skill("seen")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["seen"]


def test_what_lies_inside_a_skill_is_found_only_when_asked(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    outer = write_skill("outer")
    write_skill("inner", into=outer / "examples")
    outside = write_skill("outside", into=tmp_path / "elsewhere")
    (outer / "link").symlink_to(outside)
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["outer"]
    asked = make_manager(skills_dir, include_nested=True)
    asked.discover()
    assert names(asked) == ["inner", "outer"], "a symbolic link inside a skill is never followed"


def test_a_skill_in_the_root_does_not_hide_the_others(skills_dir: Path, write_skill) -> None:
    (skills_dir / "SKILL.md").write_text("---\nname: index\ndescription: d\n---\n")
    write_skill("other")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["index", "other"]


@pytest.mark.parametrize("spelling", ["skill.md", "Skill.md", "SKILL.MD"])
def test_other_spellings_of_the_file_are_found(skills_dir: Path, write_skill, spelling: str) -> None:
    folder = write_skill("odd")
    os.rename(folder / "SKILL.md", folder / spelling)
    write_skill("inside", into=folder / "sub")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["odd"]
    assert manager.invoke_skill("odd").endswith("# Instructions\n")
    assert not manager.refresh()


# Symbolic links and the same folder twice


def test_a_symlinked_skill_folder_is_followed_and_counts_once(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    real = write_skill("real", into=tmp_path / "elsewhere")
    (skills_dir / "a-link").symlink_to(real)
    (skills_dir / "b-link").symlink_to(real)
    (skills_dir / "folder-link").symlink_to(tmp_path / "elsewhere")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["real"]
    assert manager.get_skill("real").base_dir == skills_dir / "a-link"
    assert codes(manager) == ["name-folder"]


def test_loops_end(skills_dir: Path, write_skill) -> None:
    (skills_dir / "sub").mkdir()
    (skills_dir / "sub" / "up").symlink_to(skills_dir)
    (skills_dir / "sub" / "self").symlink_to(skills_dir / "sub")
    (skills_dir / "ring").symlink_to(skills_dir / "ring")
    write_skill("good")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["good"]
    assert "folder-limit" not in codes(manager)


def test_the_same_folder_in_two_sources_counts_once(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    write_skill("one")
    (tmp_path / "link").symlink_to(skills_dir)
    manager = make_manager(
        skills_dir, additional_search_paths=[skills_dir, tmp_path / "link", skills_dir / "one"]
    )
    manager.discover()
    assert names(manager) == ["one"]
    assert manager.diagnostics == ()
    assert manager.list_skills(include_qualified=True) == ["one"]


def test_hard_links_in_two_folders_are_two_skills(skills_dir: Path, write_skill) -> None:
    first = write_skill("first", header="name: twin\ndescription: d")
    for name in ("second", "third"):
        (skills_dir / name).mkdir()
        os.link(first / "SKILL.md", skills_dir / name / "SKILL.md")
    (skills_dir / "zz-link").symlink_to(skills_dir / "second")
    manager = make_manager(skills_dir)
    manager.discover()
    qualified = manager.list_skills(include_qualified=True)
    assert qualified == ["twin", "project:skills/second", "project:skills/third"]
    assert {manager.get_skill(name).base_dir.name for name in qualified} == {"first", "second", "third"}
    assert not manager.refresh()


def test_a_skill_file_may_be_a_link_inside_its_folder_only(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    inside = write_skill("inside")
    os.rename(inside / "SKILL.md", inside / "real.md")
    (inside / "SKILL.md").symlink_to("real.md")
    outside = skills_dir / "outside"
    outside.mkdir()
    (tmp_path / "secret.md").write_text("---\nname: outside\ndescription: SECRET\n---\nSECRET")
    (outside / "SKILL.md").symlink_to(tmp_path / "secret.md")
    dangling = skills_dir / "dangling"
    dangling.mkdir()
    (dangling / "SKILL.md").symlink_to("nothing.md")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["inside"]
    assert manager.invoke_skill("inside").endswith("# Instructions\n")
    by_path = {found.path.parent.name: found for found in manager.diagnostics}
    assert by_path["outside"].code == "symlink-outside"
    assert by_path["dangling"].code == "unreadable"
    assert "SECRET" not in str(manager.diagnostics)


def test_a_link_that_starts_to_leave_is_refused_at_invocation(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    folder = write_skill("pdf")
    manager = make_manager(skills_dir)
    manager.discover()
    (tmp_path / "secret.md").write_text("---\nname: pdf\ndescription: d\n---\nSECRET")
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(Exception, match="leaves the skill's folder"):
        manager.invoke_skill("pdf")


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
    assert [path.parent.name for path in SkillDiscovery().discover_skills(source)] == ["a", "a"]


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
    class Policy:
        def refusal(self, skill: SkillMetadata) -> Refusal | None:
            return Refusal("disabled", "off") if skill.name == "switched-off" else None

    write_skill("plain")
    write_skill("switched-off")
    write_skill("for-people", disable_model_invocation="true")
    write_skill("needy", header="name: needy\ndescription: d\nrequires: {commands: [no-such-command-xyz]}")
    write_skill("shell", header="name: shell\ndescription: d\nrequires: {commands: [sh]}")
    write_skill("guessed", header="name: guessed\ndescription: a: b")
    manager = make_manager(skills_dir, policy=Policy())
    manager.discover()
    assert len(manager.list_skills()) == 6
    assert [skill.name for skill in manager.offered_skills()] == ["plain", "shell"]
    refusal = manager.refusal(manager.get_skill("needy"))
    assert refusal is not None
    assert refusal.code == "unavailable"
    assert "no-such-command-xyz" in refusal.reason
    manager.offer_recovered = True
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
    bad = write_skill("bad", header="name: bad\ndescription: [unclosed")
    write_skill("good")
    write_skill("typo", allowedTools="Read")
    with caplog.at_level(logging.WARNING, "skillkit"):
        manager.discover()
        manager.discover()
        manager.refresh()
    assert names(manager) == ["good", "typo"]
    failure = manager.diagnostics[0]
    assert (failure.path, failure.code, failure.severity) == (bad / "SKILL.md", "yaml", Severity.ERROR)
    assert failure.line == 4
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
    assert "'tags' is not known" not in caplog.text
    with caplog.at_level(logging.DEBUG, "skillkit"):
        manager.discover()
        manager.refresh()
    assert caplog.text.count("'tags' is not known") == 1


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


# Reading again


class Reads:
    """Counts how often a header is read from disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from skillkit.core import discovery

        self.paths: list[str] = []
        read_head = discovery.read_head

        def counted(path: str) -> tuple[bytes, Stamp]:
            self.paths.append(Path(path).parent.name)
            return read_head(path)

        monkeypatch.setattr(discovery, "read_head", counted)

    def taken(self) -> list[str]:
        taken, self.paths = sorted(self.paths), []
        return taken


def test_refresh_reads_only_what_has_changed(
    manager: SkillManager, skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        write_skill(name)
    write_skill("broken", header="name: [")
    reads = Reads(monkeypatch)
    manager.discover()
    assert reads.taken() == ["a", "b", "broken", "c", "d"]
    before = manager.get_skill("a")
    assert not manager.refresh()
    assert reads.taken() == []
    write_skill("b", description="Something else")
    write_skill("e")
    os.replace(skills_dir / "c", skills_dir / "c2")
    (skills_dir / "d" / "SKILL.md").unlink()
    changes = manager.refresh()
    assert changes.added == ("project:e",)
    assert changes.removed == ("project:d",)
    assert changes.changed == ("project:b", "project:c")
    assert reads.taken() == ["b", "c2", "e"]
    assert manager.get_skill("a") is before
    assert manager.get_skill("b").description == "Something else"
    assert manager.discover() is None
    assert reads.taken() == []


def test_a_file_that_becomes_readable_is_read_though_it_did_not_change(
    manager: SkillManager, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skillkit.core import discovery

    write_skill("a")
    read_head = discovery.read_head

    def denied(path: str) -> tuple[bytes, Stamp]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(discovery, "read_head", denied)
    manager.discover()
    assert codes(manager) == ["unreadable"]
    monkeypatch.setattr(discovery, "read_head", read_head)
    assert manager.refresh().added == ("project:a",)


def test_refresh_fills_a_manager_that_was_not(manager: SkillManager, write_skill) -> None:
    write_skill("a")
    assert manager.refresh().added == ("project:a",)
    assert manager.init_mode is InitMode.SYNC


class Memo:
    """What an earlier run remembers."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, Stamp], SkillMetadata] = {}

    def get(self, path: str, stamp: Stamp) -> SkillMetadata | None:
        return self.kept.get((path, stamp))

    def put(self, path: str, stamp: Stamp, metadata: SkillMetadata) -> None:
        self.kept[path, stamp] = metadata


def test_a_memo_saves_reading_until_a_file_changes(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("a")
    write_skill("b")
    write_skill("broken", header="name: [")
    memo = Memo()
    make_manager(skills_dir, memo=memo).discover()
    reads = Reads(monkeypatch)
    write_skill("b", description="Something else")
    warm = make_manager(skills_dir, memo=memo)
    warm.discover()
    assert reads.taken() == ["b", "broken"]
    assert names(warm) == ["a", "b"]
    assert warm.invoke_skill("a").endswith("# Instructions\n")
    other = SkillManager(
        project_skill_dir="", anthropic_config_dir="", additional_search_paths=[skills_dir], memo=memo
    )
    other.discover()
    assert other.get_skill("a").source is SourceType.CUSTOM


def test_only_headers_are_read(skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill("short", "body\n" * 100_000)
    write_skill("long", "body\n" * 100_000, notes="x" * 10_000)
    count = 0
    real_read = os.read

    def counted(descriptor: int, size: int) -> bytes:
        nonlocal count
        data = real_read(descriptor, size)
        count += len(data)
        return data

    monkeypatch.setattr(os, "read", counted)
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["long", "short"]
    assert count <= 4096 * 2 + 70_000


@pytest.mark.parametrize("notes", [3900, 4030, 4060, 4096, 8000, 60_000])
def test_a_header_of_any_allowed_length_is_read_whole(manager: SkillManager, write_skill, notes: int) -> None:
    write_skill("long", "The body\n" * 3000, notes="x" * notes, license="MIT")
    manager.discover()
    skill = manager.get_skill("long")
    assert skill.license == "MIT"
    assert not skill.recovered
    assert skill.extra == {"notes": "x" * notes}
    assert manager.invoke_skill("long").split("\n\n", 1)[1].startswith("The body")


def test_dashes_in_a_long_header_do_not_end_it_early(manager: SkillManager, write_skill) -> None:
    text = (
        "name: long\ndescription: d\nnotes: |\n  x\n---- not a fence\nx: |\n"
        + "  line\n" * 800
        + "license: MIT"
    )
    write_skill("long", header=text.replace("---- not", "  ---- not"))
    manager.discover()
    assert manager.get_skill("long").license == "MIT"
    assert not manager.get_skill("long").recovered


def test_discovery_and_invocation_see_the_same_body(
    manager: SkillManager, write_skill, skills_dir: Path
) -> None:
    folder = skills_dir / "open"
    folder.mkdir()
    body = "\n# Title\n" + "words\n" * 20_000 + "---\nend\n"
    (folder / "SKILL.md").write_text(f"---\nname: open\ndescription: d\n{body}")
    manager.discover()
    assert manager.get_skill("open").recovered
    assert manager.invoke_skill("open").endswith(body.lstrip("\n"))


def test_many_threads_may_discover_at_once(manager: SkillManager, write_skill) -> None:
    for number in range(20):
        write_skill(f"skill-{number}")

    async def everything() -> None:
        await asyncio.gather(
            *(manager.adiscover() for _ in range(8)), *(manager.arefresh() for _ in range(8))
        )

    asyncio.run(everything())
    assert len(manager.list_skills()) == 20
