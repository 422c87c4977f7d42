"""`agent skill list` through the real program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment, run_here
from skill_repositories import Repository, skill_text

from skillkit.core.extras import pip_install


def write_skill(folder: Path, name: str, description: str = "Does one thing well.") -> Path:
    skill = folder / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nBody\n")
    return skill


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def agent(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_here(*arguments, cwd=home, environment=clean_environment(home, **environment))


def test_lists_skills_of_the_usual_places_and_of_given_folders(home: Path, tmp_path: Path) -> None:
    write_skill(home / "skills", "in-project")
    write_skill(home / ".agent" / "skills", "in-home")
    write_skill(tmp_path / "elsewhere", "given")
    shown = agent(home, "skill", "list", str(tmp_path / "elsewhere"))
    assert shown.returncode == 0, shown.stderr
    assert {"in-project", "in-home", "given"} <= set(shown.stdout.split())


def test_the_list_is_sorted_and_shows_version_state_and_commit(home: Path, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "zoo.git")
    commit = repository.commit({"SKILL.md": skill_text("Beaver_Facts", version="2.1.0")})
    assert agent(home, "skill", "add", repository.url, "--trusted").returncode == 0
    for name in ("zebra", "ape"):
        write_skill(home / "skills", name)
    shown = agent(home, "skill", "list", "--long", AGENT_SKILLS="beaver-facts,zebra", COLUMNS="200")
    rows = {line.split()[0]: line.split() for line in shown.stdout.splitlines()}
    wanted = ["ape", "Beaver_Facts", "hello-extended", "kalshi-markets", "skill-author", "zebra"]
    assert list(rows) == ["Name", *wanted]
    assert rows["Name"][:4] == ["Name", "Active", "Version", "Source"]
    assert rows["Beaver_Facts"][1:3] == ["yes", "2.1.0"]
    assert rows["Beaver_Facts"][4] == commit[:8]
    assert rows["ape"][1:4] == ["no", "-", "project"]
    assert rows["zebra"][1] == "no", "it is wanted, and nobody trusts it"
    data = json.loads(agent(home, "skill", "list", "--json", AGENT_SKILLS="beaver-facts").stdout)
    assert [skill["name"] for skill in data["skills"]] == wanted
    beaver = data["skills"][1]
    assert (beaver["active"], beaver["version"], beaver["commit_sha"]) == (True, "2.1.0", commit)
    assert (beaver["git_url"], beaver["name_canonical"]) == (repository.url, "beaver-facts")


@pytest.mark.parametrize("columns", ["80", "40"])
def test_each_skill_has_one_line(home: Path, columns: str) -> None:
    for number in range(33):
        write_skill(home / "skills", f"skill-{number}", description="Something said at length. " * 20)
    shown = agent(home, "skill", "list", COLUMNS=columns).stdout.splitlines()
    assert len(shown) == 1 + 33 + 3
    assert max(map(len, shown)) == int(columns)


def test_json_holds_skills_and_what_is_wrong(home: Path) -> None:
    write_skill(home / "skills", "good")
    (home / "skills" / "bad").mkdir()
    (home / "skills" / "bad" / "SKILL.md").write_text("---\nname: [\n---\n")
    data = json.loads(agent(home, "skill", "list", "--json").stdout)
    assert "good" in [skill["name"] for skill in data["skills"]]
    assert "error" in [found["severity"] for found in data["diagnostics"]]


def test_a_table_fits_80_columns_and_carries_no_colour_when_piped(home: Path) -> None:
    write_skill(home / "skills", "wordy", "words that go on and on " * 30)
    shown = agent(home, "skill", "list")
    assert "wordy" in shown.stdout
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80
    assert "\x1b" not in shown.stdout


def test_hostile_text_is_shown_escaped(home: Path) -> None:
    write_skill(home / "skills", "sly", r'"red \e[31m and reversed \u202e text"')
    shown = agent(home, "skill", "list")
    assert "sly" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "\u202e" not in shown.stdout


def test_a_missing_folder_is_a_usage_error(home: Path) -> None:
    assert agent(home, "skill", "list", "./nowhere").returncode == 2


def test_help_and_version_are_shown(home: Path) -> None:
    assert "skill" in agent(home, "--help").stdout
    assert agent(home, "--version").stdout.startswith("skillkit ")


def test_a_missing_extra_is_said_in_words(home: Path) -> None:
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['typer'] = None\nfrom skillkit.agent.cli import main; main()",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 1
    assert pip_install("agent") in shown.stderr
