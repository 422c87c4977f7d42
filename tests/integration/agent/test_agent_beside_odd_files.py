"""One skill with a file name that is not UTF-8 costs nobody anything: neither the others nor itself."""

import os
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say


@pytest.fixture
def odd(home: Path) -> Path:
    for name in ("odd", "good"):
        folder = Path("skills", name)
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: What {name} does\n---\nInstructions of {name}.\n"
        (folder / "SKILL.md").write_text(text)
    with open(os.fsencode(Path("skills", "odd")) + b"/bad\xff.md", "w") as file:
        file.write("x")
    return Path("skills", "odd")


@pytest.mark.parametrize("chosen", ["all", "all-untrusted"])
def test_a_request_is_answered(
    agent, online: OpenAIServer, odd: Path, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SKILLS", chosen)
    online.replies = [
        CallTool("load_skill", {"skill_id": "odd"}),
        CallTool("load_skill", {"skill_id": "good"}),
        CallTool("load_skill", {"skill_id": "hello-extended"}),
        Say("Done."),
    ]
    done = agent("-p", "Use them")
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr
    said = str(online.requests[-1].body)
    for name in ("odd", "good"):
        assert (f"Instructions of {name}." in said) == (chosen == "all-untrusted")
    assert "Greet" in said


def test_every_command_that_lists_shows_both(agent, odd: Path) -> None:
    for arguments in (
        ("--check",),
        ("skill", "list"),
        ("skill", "list", "--json"),
        ("skill", "validate", "."),
    ):
        done = agent(*arguments)
        assert done.code == 0, done.stderr
        if arguments[-1] != ".":
            assert "odd" in done.stdout
            assert "good" in done.stdout
    for arguments in (("skill", "info", "odd"), ("skill", "info", "odd", "--json")):
        done = agent(*arguments)
        assert done.code == 0, done.stderr
        assert "What odd does" in done.stdout
        assert "is not UTF-8" in " ".join(done.stdout.split())
