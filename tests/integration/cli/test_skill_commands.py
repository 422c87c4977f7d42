"""The commands as scripts use them: JSON, exit codes, and no question that nobody answers."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from program import clean_environment, run_here
from skill_repositories import Repository, skill_text

from skillkit.install.registry import InstallRegistry
from skillkit.install.selection import Selection, change_selection

Answer = subprocess.CompletedProcess[str]
Agent = Callable[..., Answer]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def agent(tmp_path: Path, project: Path) -> Agent:
    def run(*arguments: str, **environment: str) -> Answer:
        clean = clean_environment(tmp_path / "home", **environment)
        return run_here(*arguments, cwd=project, environment=clean)

    return run


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "skills.git")


def test_without_a_terminal_consent_takes_a_full_commit_or_trusted(
    agent: Agent, repository: Repository
) -> None:
    commit = repository.commit({"SKILL.md": skill_text("pdf")})
    for options in ([], ["--yes"], ["--yes", "--ref", "main"], ["--yes", "--ref", commit[:12]]):
        refused = agent("skill", "add", repository.url, *options)
        assert refused.returncode in (1, 4), refused
        assert refused.stdout == ""
    assert agent("skill", "add", repository.url).returncode == 4
    done = agent("skill", "add", repository.url, "--yes", "--ref", commit, "--json")
    assert done.returncode == 0, done.stderr
    [installed] = json.loads(done.stdout)["installed"]
    assert (installed["name"], installed["commit_sha"], installed["trusted"]) == ("pdf", commit, True)
    assert commit in done.stderr, "the card is shown even when nobody is asked"
    assert "Fetching" in done.stderr, "progress goes to stderr"


def test_the_life_of_a_skill_in_a_script(agent: Agent, repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    assert agent("skill", "add", repository.url, "--trusted").returncode == 0
    assert agent("skill", "verify").returncode == 0
    assert agent("skill", "outdated").returncode == 0
    newer = repository.commit({"SKILL.md": skill_text("pdf", body="Newer.")})
    outdated = agent("skill", "outdated", "--json")
    assert outdated.returncode == 3
    assert json.loads(outdated.stdout)["skills"][0]["latest"] == newer
    assert agent("skill", "update", "pdf", "--yes").returncode == 4
    updated = agent("skill", "update", "pdf", "--yes", "--ref", newer, "--json")
    assert json.loads(updated.stdout)["updated"][0]["changed"] is True
    assert "up to date" in agent("skill", "update", "--trusted").stdout
    path = tmp_path / "home" / ".agent" / "skills" / "pdf" / "SKILL.md"
    path.chmod(0o644)
    path.write_text("edited")
    verify = agent("skill", "verify", "--json")
    assert verify.returncode == 3
    assert json.loads(verify.stdout)["skills"][0]["edits"] == [{"kind": "changed", "path": "SKILL.md"}]
    assert agent("skill", "update", "pdf", "--trusted").returncode == 3
    restored = agent("skill", "update", "pdf", "--trusted", "--overwrite-edits")
    assert "kept for rollback" in restored.stdout
    assert agent("skill", "remove", "pdf").returncode == 4
    assert json.loads(agent("skill", "remove", "pdf", "--yes", "--json").stdout)["removed"]["name"] == "pdf"
    assert (
        json.loads(agent("skill", "rollback", "pdf", "--yes", "--json").stdout)["restored"]["name"] == "pdf"
    )
    assert agent("skill", "remove", "nope", "--yes").returncode == 1


@pytest.mark.parametrize("command", ["update", "remove", "rollback"])
def test_a_skill_that_was_never_installed_is_told_apart_from_one_that_is_not_there(
    agent: Agent, project: Path, command: str
) -> None:
    folder = project / "skills" / "helper"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text("helper"))
    bundled = agent("skill", command, "Kalshi_Markets")
    assert bundled.returncode == 1
    assert "'kalshi-markets' comes with the program" in bundled.stderr
    assert "agent skill disable kalshi-markets" in bundled.stderr
    own = agent("skill", command, "helper")
    assert own.returncode == 1
    assert str(folder) in own.stderr
    assert re.search("'nowhere' is (not|neither) installed", agent("skill", command, "nowhere").stderr)


def test_some_failures_among_many_are_partial(agent: Agent, repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": skill_text("here")})
    other = Repository(tmp_path / "other.git")
    other.commit({"SKILL.md": skill_text("there")})
    assert agent("skill", "add", repository.url, "--trusted").returncode == 0
    assert agent("skill", "add", other.url, "--trusted").returncode == 0
    os.rename(other.path, tmp_path / "gone.git")
    update = agent("skill", "update", "--trusted", "--json")
    assert update.returncode == 5
    assert "error" in json.loads(update.stdout)["updated"][1]
    assert agent("skill", "outdated").returncode == 5
    assert agent("skill", "update", "here", "there", "--ref", "main").returncode == 2


def test_bad_sources_and_choices_are_usage_errors(agent: Agent, repository: Repository) -> None:
    repository.commit({"skills/a/SKILL.md": skill_text("a"), "skills/b/SKILL.md": skill_text("b")})
    many = agent("skill", "add", repository.url, "--trusted")
    assert many.returncode == 2
    assert "--skill NAME" in many.stderr
    assert agent("skill", "add", "ext::sh -c true").returncode == 2
    assert agent("skill", "add").returncode == 2
    assert agent("skill", "add", repository.url, "--all", "--trusted").returncode == 0


def test_a_large_skill_needs_a_word_at_every_step(agent: Agent, repository: Repository) -> None:
    files: dict[str, bytes | str] = {f"{number}.md": "x" for number in range(20)}
    repository.commit({"SKILL.md": skill_text("large"), **files})
    few, enough = ("--max-files", "10"), ("--max-files", "30")
    assert agent("skill", "add", repository.url, "--trusted", *few).returncode == 4
    assert agent("skill", "add", repository.url, "--trusted", *enough).returncode == 0
    repository.commit({"SKILL.md": skill_text("large", body="Newer."), **files})
    refused = agent("skill", "update", "large", "--trusted", *few)
    assert refused.returncode == 4
    assert "--max-files" in refused.stderr
    assert agent("skill", "update", "large", "--trusted", *enough).returncode == 0


def test_a_lock_is_written_restored_and_refused(agent: Agent, repository: Repository, project: Path) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    assert agent("skill", "sync").returncode == 1
    agent("skill", "add", repository.url, "--trusted")
    assert agent("skill", "sync", "--write").returncode == 0
    assert "Everything matches" in agent("skill", "sync", "--frozen").stdout
    agent("skill", "remove", "pdf", "--yes")
    assert agent("skill", "sync").returncode == 4
    restored = agent("skill", "sync", "--frozen", "--yes", "--json")
    assert [item["name"] for item in json.loads(restored.stdout)["installed"]] == ["pdf"]
    repository.commit({"SKILL.md": skill_text("pdf", body="Newer.")})
    agent("skill", "update", "--trusted")
    assert agent("skill", "sync", "--frozen", "--yes").returncode == 3
    assert agent("skill", "sync", "pdf").returncode == 2
    assert (project / "skills-lock.json").read_text().startswith("{")


def test_enable_and_disable_are_remembered(agent: Agent, repository: Repository) -> None:
    repository.commit({"skills/a/SKILL.md": skill_text("a"), "skills/b/SKILL.md": skill_text("b")})
    agent("skill", "add", repository.url, "--all", "--trusted", "--no-enable")

    def active(**environment: str) -> list[str]:
        data = json.loads(agent("--check", "--json", **environment).stdout)
        return [skill["name"] for skill in data["skills"] if skill["active"] and skill["source"] == "user"]

    assert active() == []
    assert json.loads(agent("skill", "enable", "A", "--json").stdout) == {"selection": "a"}
    assert active() == ["a"]
    overruled = agent("skill", "enable", "b", AGENT_SKILLS="none")
    assert overruled.stdout == "Enabled: a,b\n"
    assert "AGENT_SKILLS=none overrides this.\n" in overruled.stderr
    assert active() == ["a", "b"]
    assert active(AGENT_SKILLS="") == []
    agent("skill", "disable", "a")
    assert active() == ["b"]
    agent("skill", "enable", "all")
    agent("skill", "disable", "b")
    assert active() == ["a"]
    agent("skill", "disable", "all")
    assert active() == []
    assert agent("skill", "enable", "ghost").returncode == 1
    agent("skill", "trust", "b", "--revoke")
    assert "agent skill trust b" in agent("skill", "enable", "a", "b").stderr
    assert active() == ["a"]
    assert agent("skill", "disable", "a", "b").stdout == "Active from now on: none\n"


@pytest.mark.parametrize("consent", ["--trusted", "--yes"])
def test_consent_enables(agent: Agent, repository: Repository, consent: str) -> None:
    commit = repository.commit({"skills/a/SKILL.md": skill_text("a"), "skills/b/SKILL.md": skill_text("b")})
    added = agent("skill", "add", repository.url, "--all", "--ref", commit, consent)
    assert "Active from now on: a, b" in added.stderr
    assert "✓ a (active)" in agent("--check").stdout
    assert "Skills (enabled: a,b):" in agent("--check").stdout
    assert "✓ a (active)" not in agent("--check", AGENT_SKILLS="").stdout


def test_restoring_a_lock_enables_what_is_new(agent: Agent, repository: Repository) -> None:
    repository.commit({f"{name}/SKILL.md": skill_text(name) for name in ("kept", "off")})
    agent("skill", "add", repository.url, "--all", "--trusted")
    agent("skill", "sync", "--write")
    agent("skill", "disable", "off")
    agent("skill", "remove", "kept", "--yes")
    assert "Active from now on: kept\n" in agent("skill", "sync", "--trusted").stderr
    assert "Skills (enabled: kept):" in agent("--check").stdout
    agent("skill", "remove", "kept", "--yes")
    assert "To enable: agent skill enable kept\n" in agent("skill", "sync", "--trusted", "--no-enable").stderr


@pytest.mark.parametrize("extra", [(), ("--no-enable",)])
def test_adopting_enables(agent: Agent, tmp_path: Path, extra: tuple[str, ...]) -> None:
    folder = tmp_path / "home" / ".claude" / "skills" / "helper"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text("helper"))
    said = agent("skill", "adopt", "--trusted", *extra)
    assert said.returncode == 0
    assert ("To enable: agent skill enable helper" if extra else "Active from now on: helper") in said.stderr
    assert ("Skills (enabled: helper):" in agent("--check").stdout) is (not extra)


def test_what_was_added_before_and_not_enabled_stays_off(agent: Agent, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    assert (
        "agent skill enable pdf" in agent("skill", "add", repository.url, "--trusted", "--no-enable").stderr
    )
    again = agent("skill", "add", repository.url, "--trusted")
    assert "Skill 'pdf' is not active. To enable: agent skill enable pdf" in again.stderr
    set_to_other = agent("skill", "add", repository.url, "--trusted", AGENT_SKILLS="kalshi-markets")
    assert "To enable: export AGENT_SKILLS=kalshi-markets,pdf" in set_to_other.stderr


def test_enabling_what_is_not_trusted_does_not_call_it_active(agent: Agent, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    agent("skill", "add", repository.url, "--trusted")
    agent("skill", "trust", "pdf", "--revoke")
    done = agent("skill", "enable", "pdf")
    assert done.stdout == "Enabled: pdf\n"
    assert "agent skill trust pdf\n" in done.stderr
    agent("skill", "remove", "pdf", "--yes")
    assert "Restored pdf (" in agent("skill", "rollback", "pdf", "--yes").stdout


def test_what_was_enabled_and_has_gone_can_be_forgotten(
    agent: Agent, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    agent("skill", "add", repository.url, "--trusted")
    agent("skill", "remove", "pdf", "--yes")
    assert "pdf" not in agent("--check").stderr
    agent("skill", "rollback", "pdf", "--yes")
    assert "✓ pdf (active)" in agent("--check").stdout
    agent("skill", "remove", "pdf", "--yes")
    change_selection(InstallRegistry(tmp_path / "home" / ".agent"), lambda _: Selection.parse("pdf"))
    hint = "Enabled, but not found: pdf. To forget: agent skill disable pdf\n"
    assert agent("--check").stderr == hint
    assert (
        agent("--check", AGENT_SKILLS="pdf").stderr == "AGENT_SKILLS names skills that were not found: pdf\n"
    )
    assert agent("skill", "disable", "PDF").stdout == "Active from now on: none\n"
    assert "pdf" not in agent("--check").stderr


def test_trust_in_a_script_takes_the_digest(agent: Agent, project: Path) -> None:
    folder = project / "skills" / "helper"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text("helper"))
    assert agent("skill", "trust", "helper", "--yes").returncode == 4
    digest = json.loads(agent("skill", "info", "helper", "--json").stdout)["digest"]
    trusted = agent("skill", "trust", "helper", "--yes", "--digest", digest, "--json")
    assert json.loads(trusted.stdout) == {"name": "helper", "trusted": True, "digest": digest}
    assert "trusted already" in agent("skill", "trust", "helper").stderr
    assert json.loads(agent("skill", "trust", "helper", "--revoke", "--json").stdout)["trusted"] is False
    assert "was not approved" in agent("skill", "trust", "helper", "--revoke").stderr


def test_info_shows_a_skill_from_all_sides(agent: Agent, repository: Repository) -> None:
    commit = repository.commit({"SKILL.md": skill_text("pdf", version="1.0.0"), "scripts/run.py": "x"})
    agent("skill", "add", repository.url, "--trusted")
    shown = agent("skill", "info", "PDF")
    for part in (commit, "1.0.0", repository.url, "scripts/run.py (python)", "approved"):
        assert part.replace(" ", "") in "".join(shown.stdout.split())
    data = json.loads(agent("skill", "info", "pdf", "--json").stdout)
    assert (data["commit_sha"], data["scripts"], data["edits"]) == (commit, ["run"], [])
    assert agent("skill", "info", "nope").returncode == 1


def test_info_names_the_tools_of_toolsets_and_imports_nothing(
    agent: Agent, project: Path, tmp_path: Path
) -> None:
    folder = project / "skills" / "helper"
    (folder / "toolsets").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        skill_text("helper", toolsets="[toolsets.help:Helper, 'no/way', gone:X]")
    )
    (folder / "toolsets" / "help.py").write_text(
        f"open({str(tmp_path / 'imported')!r}, 'w')\n"
        "class Other:\n    def hidden(self): ...\n"
        "class Helper:\n    def look(self): ...\n    async def find(self): ...\n    def _own(self): ...\n"
    )
    data = json.loads(agent("skill", "info", "helper", "--json").stdout)
    assert data["tools"] == ["helper.Helper.look", "helper.Helper.find"]
    assert not (tmp_path / "imported").exists()
    shown = agent("skill", "info", "hello-extended", COLUMNS="200").stdout
    assert "toolsets     toolsets.hello:HelloExtended" in shown
    assert "offers       hello-extended.HelloExtended.greet_in_language, " in shown
    assert "__pycache__" not in shown


def test_check_shows_every_state(agent: Agent, repository: Repository, project: Path) -> None:
    repository.commit({"SKILL.md": skill_text("pdf"), "scripts/run.py": "x"})
    agent("skill", "add", repository.url, "--trusted")
    for name, text in (("helper", skill_text("helper")), ("broken", "---\nname: [\n---\n")):
        (project / "skills" / name).mkdir(parents=True)
        (project / "skills" / name / "SKILL.md").write_text(text)
    shown = agent("--check", AGENT_SKILLS="pdf").stdout
    assert "✓ pdf (active) - 1 script, 0 toolsets [" in shown
    assert "○ helper (inactive)" in shown
    assert "✗ broken (inactive) - Load failed:" in shown
    wanted = agent("--check", AGENT_SKILLS="pdf,broken")
    assert "✗ broken (active) - Load failed:" in wanted.stdout
    assert "not found" not in wanted.stderr
    assert "1 failed" in shown
    for value in ("", "none"):
        assert "○ pdf (inactive)" in agent("--check", AGENT_SKILLS=value).stdout
    assert "To enable: export AGENT_SKILLS=hello-extended,pdf\n" in (
        agent("--check", AGENT_SKILLS="pdf").stderr
    )
    assert "To enable: agent skill enable hello-extended\n" in agent("--check").stderr


def test_a_damaged_registry_is_said_and_the_work_goes_on(
    agent: Agent, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    agent("skill", "add", repository.url, "--trusted")
    (tmp_path / "home" / ".agent" / "skills" / "registry.json").write_text("garbage")
    shown = agent("skill", "list")
    assert shown.returncode == 0
    assert "pdf" in shown.stdout
    assert "registry.json.damaged-1" in shown.stderr.replace("\n", "")


def test_every_command_has_help_with_examples(agent: Agent) -> None:
    overview = agent("skill", "--help").stdout
    commands = [line.split()[0] for line in overview.partition("Commands:")[2].splitlines() if line.strip()]
    assert {"add", "list", "info", "update", "remove", "sync", "verify", "create"} <= set(commands)
    for command in commands:
        text = agent("skill", command, "--help")
        assert text.returncode == 0
        assert "Examples:" in text.stdout, command
        assert f"agent skill {command}" in text.stdout
        assert max(len(line) for line in text.stdout.splitlines()) <= 80 + 20


def test_the_overview_of_commands_is_not_cut(agent: Agent) -> None:
    for arguments in ([], ["skill"], ["config"], ["session"], ["memory"], ["model"]):
        assert "..." not in agent(*arguments, "--help").stdout.partition("Commands:")[2]


def test_words_need_no_quotes(agent: Agent) -> None:
    found = json.loads(agent("skill", "search", "greet", "people", "--json").stdout)
    assert found["query"] == "greet people"
    assert found["results"][0]["name"] == "hello-extended"
    matched = agent("skill", "match", "please", "greet", "Bob")
    assert "hello-extended" in matched.stdout
    assert "\nSkill 'hello-extended' is not active. To enable: agent skill enable hello-extended\n" in (
        matched.stdout
    )


def test_what_is_not_there_is_an_error_and_not_nothing(agent: Agent) -> None:
    forgotten = agent("memory", "forget", "99")
    assert (forgotten.returncode, "no fact 99" in forgotten.stderr) == (1, True)
    assert agent("memory", "forget", "--all").stdout == "Forgot 0 facts.\n"
    assert "No remembered fact matches" in agent("memory", "search", "zebra").stderr
    ran = agent("skill", "run", "--json", "nowhere", "x")
    assert (ran.returncode, json.loads(ran.stdout)["error"]) == (1, "not_found")


def test_the_error_of_a_script_keeps_its_lines(agent: Agent) -> None:
    failed = agent("skill", "run", "hello-extended", "advanced_greeting", "--bad")
    assert failed.returncode == 1
    lines = failed.stderr.splitlines()
    assert lines[-1] == "advanced_greeting: error: unrecognized arguments: --bad"
    assert "Error: Script failed with exit code 2" in lines


@pytest.mark.parametrize("command", ["info", "run", "trust", "enable", "disable"])
def test_a_skill_that_cannot_be_loaded_is_told_apart_from_one_that_is_not_there(
    agent: Agent, project: Path, command: str
) -> None:
    (project / "skills" / "broken").mkdir(parents=True)
    (project / "skills" / "broken" / "SKILL.md").write_text("---\nname: broken\n---\n")
    broken = agent("skill", command, "Broken")
    assert broken.returncode == 1
    assert "Skill 'Broken' cannot be loaded: " in broken.stderr
    assert "'description' is missing" in broken.stderr
    nowhere = agent("skill", command, "nowhere")
    assert nowhere.returncode == 1
    assert "Available skills: hello-extended, kalshi-markets, skill-author" in nowhere.stderr


def test_a_name_that_is_not_allowed_comes_back_as_one_that_is(agent: Agent) -> None:
    assert agent("skill", "create", "My_Own Skill!").stderr.endswith("Try: my-own-skill\n")
    assert "Try" not in agent("skill", "create", "!!!").stderr


def test_adding_again_says_that_it_was_there(agent: Agent, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    assert "Installed pdf (" in agent("skill", "add", repository.url, "--trusted").stdout
    assert "Already there: pdf (" in agent("skill", "add", repository.url, "--trusted").stdout
    assert "Locked 1 skill in" in agent("skill", "sync", "--write").stdout


def test_what_people_copy_is_whole(agent: Agent, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    card = agent("skill", "add", repository.url, "--trusted").stderr
    digest = json.loads(agent("skill", "info", "pdf", "--json").stdout)["digest"]
    shown = agent("skill", "info", "pdf").stdout
    for text in (card, shown):
        assert digest in text
        assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_what_is_wanted_and_not_trusted_has_a_remedy(agent: Agent, project: Path) -> None:
    (project / "skills" / "helper").mkdir(parents=True)
    (project / "skills" / "helper" / "SKILL.md").write_text(skill_text("helper"))
    assert "agent skill trust helper" in agent("--check", AGENT_SKILLS="helper").stderr
    assert "agent skill trust helper" in agent("skill", "list", AGENT_SKILLS="helper").stderr
    assert "agent skill trust" not in agent("--check", AGENT_SKILLS="kalshi-markets").stderr


@pytest.mark.parametrize("columns", [36, 40, 44])
def test_a_table_on_a_narrow_screen_loses_no_letter(agent: Agent, columns: int) -> None:
    done = agent("skill", "match", "odds on rain", COLUMNS=str(columns))
    assert "shares the word odds Mode" in " ".join(done.stdout.split())


def test_where_nothing_is_active_the_list_says_how_to_change_that(agent: Agent) -> None:
    hint = "No skill is active. To enable: agent skill enable hello-extended\n"
    assert agent("skill", "list").stderr == hint
    assert agent("skill", "list", AGENT_SKILLS="kalshi-markets").stderr == ""


def test_every_validated_skill_is_named(agent: Agent, project: Path) -> None:
    for name in ("one", "two"):
        agent("skill", "create", name)
    shown = agent("skill", "validate", "skills").stdout
    assert shown.index(str(project / "skills" / "one")) < shown.index(str(project / "skills" / "two"))
    assert shown.endswith("2 checked: 0 errors, 2 warnings\n")
    assert shown.count("still the text of the template in lines 3, 10, 14, 15, 16") == 2
    assert "[template-text]" in agent("skill", "test", "skills").stderr
    assert "[template-text]" in agent("skill", "publish", "skills", "--well-known", "site").stderr
    file = project / "skills" / "two" / "SKILL.md"
    agent("skill", "create", "three", "--description", "Counts to three.")
    assert "in lines 10, 14, 15, 16" in agent("skill", "validate", "skills/three").stdout
    assert "[template-text]" in agent("skill", "validate", "two").stdout, "by name"
    file.write_text(skill_text("two"))
    assert "[template-text]" not in agent("skill", "validate", "skills/two").stdout
    (project / "skills" / "one" / "SKILL.md").write_text("---\nname: one\n---\n")
    assert "1 checked: 1 error, 0 warnings" in agent("skill", "validate", "skills/one").stdout


def test_names_are_completed_by_the_shell(agent: Agent, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf-reader")})
    agent("skill", "add", repository.url, "--trusted")
    done = agent(
        _AGENT_COMPLETE="complete_bash",
        COMP_WORDS="agent skill remove pd",
        COMP_CWORD="3",
        _TYPER_COMPLETE_ARGS="",
    )
    assert "pdf-reader" in done.stdout


def test_output_that_nobody_reads_to_the_end_is_no_error(agent: Agent, project: Path, tmp_path: Path) -> None:
    for number in range(200):
        folder = project / "skills" / f"s{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(skill_text(folder.name, description="words " * 50))
    program = f"{sys.executable} -c 'from skillkit.agent.cli import main; main()' skill list"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} | head -1"],
        cwd=project,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
