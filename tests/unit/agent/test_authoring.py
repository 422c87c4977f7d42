"""Help for authors: what is created is valid, and what is wrong is named with rule and line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment

from skillkit.agent.authoring.templates import create_skill
from skillkit.core.exceptions import ConfigurationError
from skillkit.evaluation.clients import treatments
from skillkit.evaluation.validation import validate_file, validate_paths


def agent(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from skillkit.agent.cli import main; main()", *arguments],
        cwd=folder,
        env=clean_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def skill(folder: Path, text: str, name: str = "pdf", file: str = "SKILL.md") -> Path:
    path = folder / name / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def verdicts(path: Path) -> dict[str, str]:
    return {verdict.client: verdict.outcome for verdict in validate_file(path).verdicts}


# Creating


@pytest.mark.parametrize("template", ["instructions", "scripts", "hybrid"])
@pytest.mark.parametrize("name", ["pdf", "release-notes-2", "9lives"])
def test_a_created_skill_is_valid_from_the_first_minute(template: str, name: str, tmp_path: Path) -> None:
    folder, files = create_skill(name, tmp_path, template=template)
    assert folder == tmp_path / name
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == files
    [result] = validate_paths([folder])
    assert result.errors == ()
    assert {found.code for found in result.warnings} == (
        {"extension-field"} if template == "hybrid" else set()
    )


@pytest.mark.parametrize(
    "description",
    ['Say "hi": now', "- a list?", "# no comment", "yes", "1.0", "back\\slash", "key: value", "é ü"],
)
def test_any_description_survives(description: str, tmp_path: Path) -> None:
    folder, _ = create_skill("pdf", tmp_path, description=description)
    result = validate_file(folder / "SKILL.md")
    assert result.errors == ()
    from skillkit.core.parser import SkillParser

    assert SkillParser(strict=True).parse_skill_file(folder / "SKILL.md").description == description


def test_the_created_script_runs_and_the_toolset_loads(tmp_path: Path) -> None:
    folder, _ = create_skill("mail-merge", tmp_path, template="hybrid")
    script = folder / "scripts" / "greet.py"
    assert os.access(script, os.X_OK)
    done = subprocess.run(
        [sys.executable, script, "Ada", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"greeting": "Hello, Ada!"}
    compile((folder / "toolsets" / "tools.py").read_text(), "tools.py", "exec")
    assert "class MailMergeTools(AgentToolset)" in (folder / "toolsets" / "tools.py").read_text()


def test_nothing_is_overwritten_and_bad_names_are_refused(tmp_path: Path) -> None:
    create_skill("pdf", tmp_path)
    with pytest.raises(ConfigurationError, match="exists already"):
        create_skill("pdf", tmp_path)
    for name in ("../x", "Bad", "a b", "", "x" * 65, "-a"):
        with pytest.raises(ConfigurationError):
            create_skill(name, tmp_path)
    with pytest.raises(ConfigurationError, match="1024"):
        create_skill("long", tmp_path, description="x" * 2000)


# Validating


def test_a_plain_skill_is_accepted_by_everybody(tmp_path: Path) -> None:
    path = skill(tmp_path, "---\nname: pdf\ndescription: Reads PDF files.\n---\nBody\n")
    assert set(verdicts(path).values()) == {"accepts"}


def test_errors_carry_rule_and_line(tmp_path: Path) -> None:
    path = skill(tmp_path, "---\nname: Other\ndescription: d\nallowedTools: x\nwhatever: 1\n---\n")
    result = validate_file(path)
    assert {(found.code, found.line) for found in result.errors} == {
        ("name-format", 2),
        ("name-folder", 2),
        ("misspelled-field", 4),
        ("unknown-field", 5),
    }
    assert result.warnings == ()
    assert verdicts(path)["VS Code"] == "warns"


def test_fields_of_skillkit_are_warnings_and_the_strict_client_refuses_them(tmp_path: Path) -> None:
    path = skill(tmp_path, "---\nname: pdf\ndescription: d\ntriggers: [pdf]\nversion: 1.0.0\n---\n")
    result = validate_file(path)
    assert result.errors == ()
    assert [(found.code, found.line) for found in result.warnings] == [
        ("extension-field", 4),
        ("extension-field", 5),
    ]
    assert verdicts(path) == {
        "Agent Skills specification": "refuses",
        "claude.ai upload": "refuses",
        "Claude Code": "accepts",
        "Codex": "accepts",
        "VS Code": "accepts",
    }


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("no header", "header"),
        ("---\nname: pdf\n---\n", "missing-field"),
        ("---\nname: [\n---\n", "yaml"),
        ("---\nname: pdf\ndescription: d\n", "header"),
    ],
)
def test_a_header_that_cannot_be_read_is_left_out_by_every_client_but_claude_code(
    text: str, rule: str, tmp_path: Path
) -> None:
    result = validate_file(skill(tmp_path, text))
    assert rule in {found.code for found in result.errors}
    outcomes = {verdict.client: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop("Claude Code") == "warns", "it takes the file, and the header for empty"
    assert set(outcomes.values()) == {"refuses"}


@pytest.mark.parametrize(
    ("header", "claude_code", "codex"),
    [
        ("name: pdf\ndescription: Use when: asked", "warns", "accepts"),
        ("name: pdf\ndescription: d\ntags: [a", "warns", "refuses"),
        ("name: pdf", "warns", "refuses"),
        ("description: d", "accepts", "accepts"),
        ("name: Other Name\ndescription: d", "accepts", "accepts"),
        (f"name: pdf\ndescription: {'x' * 1400}", "accepts", "accepts"),
        (f"name: {'x' * 65}\ndescription: d", "accepts", "refuses"),
        ("name: pdf\ndescription: d\ncontext: fork\nbackground: off", "accepts", "accepts"),
    ],
)
def test_each_client_is_told_by_its_own_rules(
    header: str, claude_code: str, codex: str, tmp_path: Path
) -> None:
    found = verdicts(skill(tmp_path, f"---\n{header}\n---\nBody.\n"))
    assert (found["Claude Code"], found["Codex"]) == (claude_code, codex)


def test_limits_of_clients_are_told(tmp_path: Path) -> None:
    long = skill(tmp_path, f"---\nname: pdf\ndescription: {'x' * 1600}\n---\n")
    assert "description-length" in {found.code for found in validate_file(long).errors}
    assert verdicts(long)["Claude Code"] == "warns"
    reserved = skill(tmp_path, "---\nname: claude-tool\ndescription: d <b>x</b>\n---\n", "claude-tool")
    [upload] = [v for v in validate_file(reserved).verdicts if v.client == "claude.ai upload"]
    assert upload.outcome == "refuses"
    assert "reserved" in upload.reason
    assert "XML" in upload.reason


def test_the_file_has_to_be_spelled_right_and_be_readable(tmp_path: Path) -> None:
    lower = skill(tmp_path, "---\nname: pdf\ndescription: d\n---\n", file="skill.md")
    assert [found.code for found in validate_file(lower).errors] == ["file-name"]
    fifo = tmp_path / "fifo" / "SKILL.md"
    fifo.parent.mkdir()
    os.mkfifo(fifo)
    assert [found.code for found in validate_file(fifo).errors] == ["unreadable"]


GOOD = "---\nname: pdf\ndescription: Reads PDF files.\n---\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"caf\xe9", f"byte {len(GOOD) + 3}"),
        (b"word " * 60_000, "tokens; load_skill returns at most"),
        (b"word " * 2_000_000, "too large"),
    ],
)
def test_what_cannot_be_loaded_is_not_valid(body: bytes, message: str, tmp_path: Path, run_agent) -> None:
    path = skill(tmp_path, GOOD)
    path.write_bytes(GOOD.encode() + body)
    result = validate_file(path)
    [found] = result.errors
    assert result.unloadable == (found,)
    assert message in found.message
    readable = found.code == "unloadable"
    assert (result.verdict("codex").outcome == "accepts") == readable
    checked = run_agent("skill", "validate", path, "--for", "codex")
    assert checked.returncode == 1
    assert found.code in checked.stdout


def test_a_hard_link_is_worth_a_warning(tmp_path: Path) -> None:
    path = skill(tmp_path, GOOD)
    (tmp_path / "outside").write_text("x")
    os.link(tmp_path / "outside", path.parent / "inside")
    [found] = validate_file(path).warnings
    assert (found.code, found.path.name) == ("linked-elsewhere", "inside")


CLAUDE = (
    "---\nname: pdf\ndescription: d\ncontext: fork\nhooks: {Stop: []}\nlicense: MIT\nother: 1\n---\nBody\n"
)


@pytest.mark.parametrize(
    ("client", "outcome", "treatment"),
    [
        ("claude-code", "accepts", ["used", "used", "used", "used", "ignored", "ignored"]),
        ("codex", "accepts", ["used", "used", "ignored", "ignored", "ignored", "ignored"]),
        ("claude.ai", "refuses", ["used", "used", "refused", "refused", "used", "refused"]),
        ("spec", "refuses", ["used", "used", "refused", "refused", "used", "refused"]),
    ],
)
def test_each_client_is_told_field_by_field(
    client: str, outcome: str, treatment: list[str], tmp_path: Path
) -> None:
    result = validate_file(skill(tmp_path, CLAUDE))
    assert result.verdict(client).outcome == outcome
    assert treatments(client, result.fields) == dict(
        zip(("name", "description", "context", "hooks", "license", "other"), treatment, strict=True)
    )
    assert ("refused" in treatment) == (outcome == "refuses"), "the fields agree with the verdict"


def test_folders_are_searched_and_files_are_checked_once(tmp_path: Path) -> None:
    for name in ("a", "b", "a/nested"):
        skill(tmp_path / "skills", f"---\nname: {name.rpartition('/')[2]}\ndescription: d\n---\n", name)
    found = validate_paths(
        [tmp_path / "skills", tmp_path / "skills" / "a", tmp_path / "skills" / "b" / "SKILL.md"]
    )
    assert [result.name for result in found] == ["a", "nested", "b"]


@pytest.mark.slow
def test_the_commands_end_with_codes_for_ci(tmp_path: Path) -> None:
    created = agent(tmp_path, "skill", "create", "pdf", "--template", "scripts", "--json")
    assert json.loads(created.stdout)["files"] == [
        "SKILL.md",
        "evals/evals.json",
        "evals/scripts.json",
        "evals/triggers.json",
        "scripts/greet.py",
    ]
    assert agent(tmp_path, "skill", "create", "pdf").returncode == 1
    assert "Created xls" in agent(tmp_path, "skill", "create", "xls").stdout
    good = agent(tmp_path, "skill", "validate", "skills")
    assert good.returncode == 0
    assert "2 checked: 0 errors, 2 warnings" in good.stdout, "the text of the template is still there"
    skill(tmp_path / "skills", "---\nname: bad\n---\n", "bad")
    bad = agent(tmp_path, "skill", "validate", "skills")
    assert bad.returncode == 1
    assert "[missing-field]" in bad.stdout.replace("\n", "")
    data = json.loads(agent(tmp_path, "skill", "validate", "skills", "--json").stdout)
    assert [file["valid"] for file in data["files"]] == [False, True, True]
    (tmp_path / "empty").mkdir()
    assert agent(tmp_path, "skill", "validate", "empty").returncode == 1
    assert agent(tmp_path, "skill", "validate", "nowhere").returncode == 1


def test_bundled_and_example_skills_pass() -> None:
    root = Path(__file__).parents[3]
    results = validate_paths([root / "src" / "skillkit" / "bundled", root / "examples" / "skills"])
    assert len(results) >= 4
    assert [found for result in results for found in result.errors] == []
