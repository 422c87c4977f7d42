"""Skills in the folders of other clients: linked or copied, in step, and never over somebody's edits."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from installing import Person
from program import clean_environment, run_here
from skill_repositories import Repository, skill_text

from skillkit.install.clients import InstallTargets, all_clients, detected_clients, parse_clients
from skillkit.install.doctor import diagnose
from skillkit.install.exceptions import InstallError, NameConflictError
from skillkit.install.installer import SkillInstaller
from skillkit.install.placement import PlaceState


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def placing(project: Path | None, *ids: str, copy: bool = False) -> InstallTargets:
    return InstallTargets(tuple(all_clients()[name] for name in ids), project, copy)


def body(path: Path) -> str:
    return (path / "SKILL.md").read_text()


def test_the_table_has_every_client_with_its_folders() -> None:
    clients = all_clients()
    assert len(clients) == 79
    assert sum(client.universal for client in clients.values()) == 24
    windsurf = clients["windsurf"]
    assert (windsurf.project, windsurf.personal) == (".windsurf/skills", ("~/.codeium/windsurf/skills",))


def test_universal_clients_share_one_place_and_others_have_their_own(
    installer: SkillInstaller, repository: Repository, project: Path, user_home: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    installer.add(repository.url, placing=placing(project, "claude-code", "cursor", "codex"))
    installer.add(repository.url, placing=placing(None, "claude-code", "cursor"))
    [check] = installer.verify()
    assert {(found.place.path, found.place.clients) for found in check.places} == {
        (str(project / ".claude/skills/pdf"), ("claude-code",)),
        (str(project / ".agents/skills/pdf"), ("cursor", "codex")),
        (str(user_home / ".claude/skills/pdf"), ("claude-code",)),
        (str(user_home / ".agents/skills/pdf"), ("cursor",)),
    }
    assert all(Path(found.place.path).is_symlink() for found in check.places)
    assert not check.strays


@pytest.mark.parametrize("copy", [False, True], ids=["links", "copies"])
def test_update_rollback_remove_and_back_keep_every_place_in_step(
    copy: bool, installer: SkillInstaller, repository: Repository, project: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", "One.")})
    installer.add(repository.url, placing=placing(project, "claude-code", "codex", copy=copy))
    places = [project / ".claude/skills/pdf", project / ".agents/skills/pdf"]
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", "Two.")})
    installer.update("pdf")
    assert all("Two." in body(place) for place in places)
    installer.rollback("pdf")
    assert all("One." in body(place) for place in places)
    installer.remove("pdf")
    assert not any(os.path.lexists(place) for place in places)
    installer.rollback("pdf")
    assert all("One." in body(place) for place in places)
    assert not installer.verify()[0].strays


def test_an_edited_copy_is_never_overwritten_nor_deleted(
    installer: SkillInstaller, repository: Repository, project: Path, person: Person
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", "One.")})
    installer.add(repository.url, placing=placing(project, "claude-code", copy=True))
    place = project / ".claude/skills/pdf"
    (place / "SKILL.md").write_text(skill_text("pdf", "Mine."))
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", "Two.")})
    installer.update("pdf")
    assert any("left as it is" in note for note in person.last.offers[0].notes)
    assert "Mine." in body(place)
    assert [check.state for check in installer.verify()[0].strays] == [PlaceState.EDITED]
    installer.remove("pdf")
    assert "Mine." in body(place)


def test_what_somebody_put_there_is_not_taken_and_nothing_is_installed(
    installer: SkillInstaller, repository: Repository, project: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    mine = project / ".claude/skills/pdf"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text(skill_text("pdf", "Mine."))
    with pytest.raises(NameConflictError, match=str(mine)):
        installer.add(repository.url, placing=placing(project, "claude-code"))
    assert not installer.list()
    assert "Mine." in body(mine)


def test_where_links_fail_the_skill_is_copied(
    installer: SkillInstaller, repository: Repository, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    real = os.symlink

    def symlink(target: object, path: object, **options: object) -> None:
        if str(path).startswith(str(project)):
            raise PermissionError(1, "Operation not permitted")
        real(target, path, **options)

    monkeypatch.setattr(os, "symlink", symlink)
    installer.add(repository.url, placing=placing(project, "claude-code"))
    [check] = installer.verify()
    assert [(found.place.copied, found.state) for found in check.places] == [(True, PlaceState.CURRENT)]


def test_a_link_that_was_deleted_comes_back_with_an_update(
    installer: SkillInstaller, repository: Repository, project: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    installer.add(repository.url, placing=placing(project, "claude-code"))
    (project / ".claude/skills/pdf").unlink()
    assert [check.state for check in installer.verify()[0].strays] == [PlaceState.MISSING]
    installer.update("pdf")
    assert not installer.verify()[0].strays


def test_clients_are_named_or_found(user_home: Path, project: Path) -> None:
    (user_home / ".cursor").mkdir()
    (user_home / ".codex").mkdir()
    assert [client.id for client in detected_clients(project)] == ["codex", "cursor"]
    assert parse_clients(["all-detected"], project) == tuple(detected_clients(project))
    assert [client.id for client in parse_clients(["claude-code,codex", "codex"], project)] == [
        "claude-code",
        "codex",
    ]
    with pytest.raises(InstallError, match="claude-code"):
        parse_clients(["claude-cod"], project)


def test_the_doctor_names_what_is_wrong_and_what_to_do(
    installer: SkillInstaller, repository: Repository, project: Path, user_home: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    installer.add(repository.url, placing=placing(project, "claude-code", copy=True))
    assert not diagnose(installer, project).problems
    ours = project / ".claude/skills"
    (ours / "gone").symlink_to(project / "nowhere")
    (ours / "broken").mkdir()
    (ours / "broken" / "SKILL.md").write_text("---\nname: [\n---\n")
    (ours / "pdf" / "SKILL.md").write_text(skill_text("pdf", "Mine."))
    personal = user_home / ".claude/skills"
    for folder in ("pdf", "other-name"):
        (personal / folder).mkdir(parents=True)
        (personal / folder / "SKILL.md").write_text(skill_text("pdf", "Mine."))
    for number in range(9):
        (personal / f"long-{number}").mkdir()
        (personal / f"long-{number}" / "SKILL.md").write_text(
            skill_text(f"long-{number}", description="words " * 170)
        )
    found = diagnose(installer, project)
    [view] = [view for view in found.clients if view.id == "claude-code"]
    assert {"pdf", "long-0"} <= {skill.name for skill in view.skills}
    assert {problem.code for problem in found.problems} == {
        *("broken-link", "unreadable", "place-edited", "double", "folder-name", "budget"),
    }
    assert all(problem.remedy for problem in found.problems)
    (personal / "pdf" / "SKILL.md").write_text(skill_text("pdf", "Another."))
    assert "name-clash" in {problem.code for problem in diagnose(installer, project).problems}


def test_the_commands_show_who_sees_what(
    repository: Repository, project: Path, home: Path, user_home: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    environment = clean_environment(user_home, AGENT_HOME=str(home))

    def agent(*words: str) -> subprocess.CompletedProcess[str]:
        return run_here(*words, cwd=project, environment=environment)

    added = agent("skill", "add", repository.url, "--trusted", "--project", "--for", "claude-code,codex")
    assert added.returncode == 0, added.stderr
    assert f"linked to {project}/.claude/skills/pdf for claude-code" in added.stdout
    shown = json.loads(agent("skill", "where", "--json").stdout)["skills"]["pdf"]
    assert {(place["path"], place["state"]) for place in shown} == {
        (f"{project}/.claude/skills/pdf", "current"),
        (f"{project}/.agents/skills/pdf", "current"),
    }
    healthy = agent("doctor")
    assert (healthy.returncode, "No problems found" in healthy.stdout) == (0, True), healthy.stdout
    (project / ".claude/skills/pdf").unlink()
    assert agent("doctor").returncode == 3
    assert agent("skill", "verify").returncode == 3
