"""Skills with `paths`: offered, matched, found and loaded only while a file that fits is in play."""

import json
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillSession
from skillkit.disclosure.files_in_play import named_files
from skillkit.integrations.conversation import Conversation


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SkillManager:
    for name, more in {"react-rules": "paths: 'src/**/*.tsx, *.css'\n", "tide-tables": ""}.items():
        (tmp_path / "skills" / name).mkdir(parents=True)
        header = f"name: {name}\ndescription: Rules of {name.replace('-', ' ')} and how to keep them.\n{more}"
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"---\n{header}---\nKeep them.\n")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir="")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Look at @src/app.ts:12, please.", ["src/app.ts"]),
        ("`a.py`, 'b/c' and (d.md)!", ["a.py", "b/c", "d.md"]),
        ("https://example.com/a.md says 1.2 of 3", []),
        ("the Makefile and .gitignore", ["Makefile", ".gitignore"]),
        ('{"path": "src/x.tsx"}', ["src/x.tsx"]),
    ],
)
def test_names_of_files_are_told_from_words(text: str, names: list[str]) -> None:
    assert list(named_files(text)) == names


def test_what_the_user_names_brings_the_skill(manager: SkillManager) -> None:
    conversation = Conversation(manager)
    before = conversation.disclose("Tell me the rules of react rules and how to keep them.")
    assert "react-rules" not in before.everything
    assert before.active == ()
    after = conversation.disclose("Tell me the rules of react rules for src/ui/App.tsx and how to keep them.")
    assert after.active == ("react-rules",)
    assert conversation.disclose("And now?").active == ("react-rules",)


def test_a_file_without_its_folder_counts_unless_it_is_another_one(manager: SkillManager) -> None:
    session = SkillSession()
    assert "react-rules" not in Conversation(manager, session).disclose("What of App.tsx?").active
    assert session.files == ("App.tsx",)
    assert "- react-rules" in Conversation(manager, session).disclose("And?").everything
    (Path.cwd() / "Other.tsx").touch()
    elsewhere = Conversation(manager).disclose("What of Other.tsx?")
    assert "react-rules" not in elsewhere.everything


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "I look at src/a.tsx now."},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "cat", "arguments": '{"path": "src/a.tsx"}'}}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "name": "cat", "input": {"p": ["src/a.tsx"]}}],
        },
        {"type": "function_call", "name": "cat", "arguments": '{"path": "src/a.tsx"}'},
    ],
)
def test_what_the_model_opens_is_in_play(manager: SkillManager, message: dict[str, object]) -> None:
    messages = [{"role": "user", "content": "Go on."}, message]
    assert "- react-rules" in Conversation(manager).disclose(messages).everything


def test_results_of_tools_and_files_of_skills_put_nothing_in_play(manager: SkillManager) -> None:
    messages = [
        {"role": "user", "content": "Go on."},
        {"type": "function_call", "name": "read_skill_resource", "arguments": '{"path": "src/a.tsx"}'},
        {"role": "tool", "content": "src/a.tsx src/b.tsx"},
    ]
    conversation = Conversation(manager)
    assert "react-rules" not in conversation.disclose(messages).everything
    assert conversation.session.files == ()


def test_a_program_gives_files_and_they_are_saved(manager: SkillManager) -> None:
    session = SkillSession()
    session.add_files(["src/a.tsx", "/etc/passwd", "../outside"])
    assert session.files == ("src/a.tsx",)
    session = SkillSession.from_data(json.loads(json.dumps(session.to_data())))
    assert "- react-rules" in Conversation(manager, session).disclose("Good morning.").instructions


def test_files_that_the_programs_user_named_are_in_play(manager: SkillManager) -> None:
    requester = Requester("test", files=(Path.cwd() / "src" / "a.tsx",))
    conversation = Conversation(manager, requester=requester)
    assert "- react-rules" in conversation.disclose("Good morning.").everything


async def test_a_model_cannot_load_it_and_the_user_can_order_it(manager: SkillManager) -> None:
    conversation = Conversation(manager)
    conversation.disclose("Good morning.")
    refused = await conversation.call("load_skill", {"skill_id": "react-rules"})
    assert refused.failed
    assert "src/**/*.tsx" in refused.text
    assert conversation.disclose("/react-rules").active == ("react-rules",)
    named = await Conversation(manager).call(
        "load_skill", {"skill_id": "react-rules", "arguments": "src/b.tsx"}
    )
    assert not named.failed


def test_conversations_do_not_share_what_is_in_play(manager: SkillManager) -> None:
    one, two = Conversation(manager), Conversation(manager)
    assert one.provider is two.provider
    assert "- react-rules" in one.disclose("See src/a.tsx.").everything
    assert "react-rules" not in two.disclose("See src/a.py.").everything
    assert "- react-rules" in one.disclose("And?").everything
