"""`agent uninstall` removes what this program put on a machine, after a question, and nothing else."""

import json
from pathlib import Path

import pytest
from skill_repositories import skill_text
from terminal import start


@pytest.fixture
def used(tmp_path: Path, own_home: Path, run_agent) -> Path:
    """A home with two skills, links in another client's folder, own work, and a model in the cache."""
    (own_home / ".claude").mkdir()
    for name in ("pdf", "csv"):
        folder = tmp_path / "source" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(skill_text(name))
    added = run_agent("skill", "add", "./source", "--all", "--trusted", "--for", "claude-code")
    assert added.returncode == 0, added.stderr
    run_agent("config", "set", "memory", "off")
    mine = own_home / ".agent" / "skills" / "mine"
    mine.mkdir()
    (mine / "SKILL.md").write_text(skill_text("mine"))
    (own_home / ".claude" / "skills" / "theirs").mkdir()
    models = own_home / ".cache" / "skillkit" / "models"
    models.mkdir(parents=True)
    (models / "some.gguf").write_bytes(b"model")
    return own_home


def files(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if not path.is_dir()}


def test_everything_of_ours_goes_and_the_rest_stays(used: Path, run_agent) -> None:
    edited = used / ".agent" / "skills" / "csv" / "SKILL.md"
    edited.chmod(0o644)
    edited.write_text(edited.read_text() + "My line.\n")
    done = run_agent("uninstall", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    assert view["removed"]
    assert {Path(each["path"]).name: each["why"] for each in view["kept"]}["csv"] == "you edited it"
    assert files(used) == {".agent/skills/csv/SKILL.md", ".agent/skills/mine/SKILL.md"}
    assert "My line." in edited.read_text()
    assert sorted(path.name for path in (used / ".claude" / "skills").iterdir()) == ["theirs"]


def test_an_edited_copy_in_another_clients_folder_stays(used: Path, run_agent) -> None:
    copied = run_agent(
        "skill", "add", "./source/pdf", "--name", "other", "--trusted", "--for", "codex", "--copy"
    )
    assert copied.returncode == 0, copied.stderr
    (copy,) = [path for path in used.rglob("other/SKILL.md") if ".agent/" not in path.as_posix()]
    copy.write_text("mine now")
    assert run_agent("uninstall", "--yes").returncode == 0
    assert copy.read_text() == "mine now"


@pytest.mark.parametrize(("given", "code"), [(["--list"], 0), ([], 4)])
def test_without_a_yes_nothing_is_removed(used: Path, run_agent, given: list[str], code: int) -> None:
    before = files(used)
    done = run_agent("uninstall", *given)
    assert done.returncode == code
    for path in (".agent/store", ".agent/settings.json", ".cache/skillkit", ".claude/skills/pdf"):
        assert str(used / path) in done.stderr.replace("\n", "").replace(" ", "")
    assert files(used) - before <= {".agent/install.lock"}
    assert before <= files(used)


def test_a_machine_without_traces_has_nothing_to_remove(run_agent, own_home: Path) -> None:
    done = run_agent("uninstall", "--json")
    assert (done.returncode, json.loads(done.stdout)["parts"]) == (0, [])
    assert not (own_home / ".agent").exists()


@pytest.mark.slow
def test_at_a_terminal_a_person_is_asked(used: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    asked = start("uninstall").expect("Remove all of this? [y/N]").type("n")
    assert asked.expect("Nothing was removed").end() == 4
    agreed = start("uninstall").expect("Remove all of this? [y/N]").type("y")
    assert agreed.expect("To remove the package: pip uninstall skillkit").end() == 0
    assert files(used) == {".agent/skills/mine/SKILL.md"}
