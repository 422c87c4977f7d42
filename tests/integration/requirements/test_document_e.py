"""Sentences of document E, each as the short program that a sceptical reader would write and run at once."""

import json
import logging
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.grants import Limits, environment_problems
from skillkit.scripts.tools import ScriptTools

NEEDS_PACKAGE = "import no_such_package_xyz\nfrom skillkit.toolsets import AgentToolset\n"
TOOLSET = "from skillkit.toolsets import AgentToolset\nclass T(AgentToolset):\n    def search(self) -> str:\n"


@pytest.fixture
def skills(own_home: Path) -> Path:
    """Skills that the user put there: they are trusted."""
    return own_home / ".agent" / "skills"


def write(skills: Path, name: str, fields: str = "", **files: str) -> Path:
    folder = skills / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}\n{fields}---\nBody\n")
    for path, text in files.items():
        file = folder / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".py").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("fields", "files", "reason"),
    [
        ("toolsets: ['toolsets.x:T']\n", {"toolsets__x": NEEDS_PACKAGE}, "no_such_package_xyz"),
        ("toolsets: ['toolsets.gone:T']\n", {}, "there is no file toolsets/gone.py"),
        (
            "toolsets: ['toolsets.x:T']\n",
            {"toolsets__x": "class T: pass\n"},
            "must inherit from AgentToolset",
        ),
        ("toolsets: ['no class']\n", {}, "module:Class"),
        ("scripts: [gone]\n", {"scripts__other": "print(1)\n"}, "gone"),
    ],
)
def test_check_reports_load_failures_with_a_short_reason(
    skills: Path, run_agent, fields: str, files: dict[str, str], reason: str
) -> None:
    write(skills, "broken", fields, **files)
    write(skills, "fine")
    shown = run_agent("--check", AGENT_SKILLS="all").stdout
    [line] = [line for line in shown.splitlines() if " broken " in line]
    assert line.strip().startswith("✗ broken (active) - Load failed:")
    assert reason in line
    assert ", 1 failed," in shown
    listed = json.loads(run_agent("--check", "--json", AGENT_SKILLS="all").stdout)
    assert reason in listed["load_failed"]["broken"]


@pytest.mark.parametrize(
    "fields", ["toolsets: ['toolsets.gone:T']\n", "toolsets: [x]\n", "scripts: [gone]\n"]
)
def test_validate_says_what_can_be_seen_without_importing(skills: Path, run_agent, fields: str) -> None:
    folder = write(skills, "broken", fields)
    assert "missing-part" in run_agent("skill", "validate", folder).stdout


def test_a_tool_name_collision_is_said_and_the_first_is_used(skills: Path, run_agent) -> None:
    for name in ("a", "b"):
        body = f'        """From {name}."""\n        return ""\n'
        write(skills, name, "toolsets: ['toolsets.x:T']\n", toolsets__x=TOOLSET + body)
    shown = run_agent("--check", AGENT_SKILLS="all")
    collision = "Tool name collision: 'search' from a.T.search conflicts with b.T.search (using first)"
    assert collision in " ".join((shown.stdout + shown.stderr).split())


def test_tools_shows_the_prefixed_tool_of_the_second_skill(skills: Path, run_agent) -> None:
    for name in ("a", "b"):
        body = f'        """From {name}."""\n        return ""\n'
        write(skills, name, "toolsets: ['toolsets.x:T']\n", toolsets__x=TOOLSET + body)
    for prefix, expected in (("true", {"search": "a", "b_search": "b"}), ("", {"search": "a"})):
        shown = run_agent("--tools", "--json", AGENT_SKILLS="all", SKILL_AUTO_PREFIX=prefix)
        found = {tool["name"]: tool["description"] for tool in json.loads(shown.stdout)["tools"]}
        searches = {name: text for name, text in found.items() if name.endswith("search")}
        assert searches == {name: f"From {skill}." for name, skill in expected.items()}


@pytest.mark.parametrize("name", ["SCRIPT_TIMEOUT", "MAX_SCRIPT_OUTPUT"])
@pytest.mark.parametrize("value", ["abc", "0", "-5", "inf"])
def test_an_invalid_limit_is_reported(
    name: str, value: str, caplog: pytest.LogCaptureFixture, run_agent
) -> None:
    with caplog.at_level(logging.WARNING):
        assert Limits.from_environment({name: value}) == Limits()
    assert f"{name}={value} is ignored" in environment_problems({name: value})[0]
    assert environment_problems({name: "5"}) == environment_problems({name: ""}) == []


def test_check_reports_an_invalid_limit(run_agent) -> None:
    assert "SCRIPT_TIMEOUT=abc is ignored" in run_agent("--check", SCRIPT_TIMEOUT="abc").stderr


def test_toolset_files_are_no_scripts_and_our_base_class_is_no_undeclared_package(run_agent) -> None:
    card = json.loads(run_agent("skill", "info", "hello-extended", "--json").stdout)["capabilities"]
    assert [script.partition(" ")[0] for script in card["scripts"]] == ["scripts/advanced_greeting.py"]
    assert not any("skillkit" in each for each in card["undeclared"])


def scripts(skills: Path) -> ScriptTools:
    manager = SkillManager(project_skill_dir=skills, anthropic_config_dir="")
    manager.discover()
    return ScriptTools(manager)


def test_the_message_of_a_parse_error_ends_with_the_output_not_with_its_line_break(tmp_path: Path) -> None:
    write(tmp_path, "s", scripts__plain="print('no JSON')\n")
    answer = scripts(tmp_path).script_run("s", "plain", json=True)
    assert (answer["error"], answer["message"]) == ("parse_error", "Expected JSON output, got: no JSON")


def test_help_has_as_long_as_a_run(tmp_path: Path) -> None:
    write(tmp_path, "s", scripts__plain="print('usage: plain')\n")
    [request] = scripts(tmp_path).help_requests("s")
    assert request.limits.timeout == 60


def test_two_dashes_end_our_own_options(skills: Path, run_agent) -> None:
    write(skills, "s", scripts__show="import sys\nprint(sys.argv[1:])\n")
    shown = run_agent("skill", "run", "s", "show", "--", "--name", "Ann")
    assert shown.stdout.strip() == "['--name', 'Ann']"


def test_a_name_that_cannot_be_one_is_refused_without_speaking_of_another_skill(
    tmp_path: Path, run_agent
) -> None:
    folder = write(tmp_path / "from", "s")
    shown = run_agent("skill", "add", folder, "--name", "a b", "--yes")
    assert shown.returncode != 0
    assert "cannot be the name" in shown.stderr
    assert "the other one" not in shown.stderr
