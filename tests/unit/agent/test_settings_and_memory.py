"""Settings that can be trusted, facts that are kept, conversations that can be read again."""

import json
import sqlite3
from pathlib import Path

import pytest

from skillkit.agent.conversations import ConversationStore, SavedConversation, as_markdown
from skillkit.agent.exceptions import AgentError, ConversationError, SettingsError
from skillkit.agent.hello import HelloTools
from skillkit.agent.memory import Memory
from skillkit.agent.models.choice import choose, provider_named
from skillkit.agent.providers import PROVIDERS
from skillkit.agent.settings import ProviderSettings, Settings, SettingsFile


def test_settings_are_changed_one_at_a_time(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    assert file.load() == Settings()
    file.change("provider", "openai")
    file.change("openai.model", "gpt-x")
    file.change("verbose", "yes")
    settings = file.load()
    assert (settings.provider, settings.of("openai").model, settings.verbose) == ("openai", "gpt-x", True)
    assert file.change("provider", "auto").provider is None
    assert file.change("openai.model", "").of("openai") == ProviderSettings()
    assert file.path.stat().st_mode & 0o077 == 0


def test_what_skills_get_of_the_program_is_set(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    file.change("pinned", "csv-report, release-notes")
    file.change("tenant", "acme")
    settings = file.change("openai.shown_files", "image/*, application/pdf")
    assert settings.pinned_skills == ("csv-report", "release-notes")
    assert settings.tenant == "acme"
    assert settings.of("openai").kinds_of_shown_files == ("image/*", "application/pdf")
    assert file.change("tenant", "").tenant == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nothing", "1"),
        ("provider", "skynet"),
        ("memory", "maybe"),
        ("openai.key", "x"),
        ("skynet.model", "x"),
        ("openai.shown_files", "pictures"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(SettingsError):
        SettingsFile(tmp_path).change(key, value)


def test_fields_of_a_newer_program_are_left_alone(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    file.path.write_text(json.dumps({"future": 1, "providers": {"openai": {"model": "m", "future": 2}}}))
    assert file.load().of("openai").model == "m"


@pytest.mark.parametrize("name", PROVIDERS.shipped)
def test_every_provider_has_a_model_and_says_whether_it_can_be_used(name: str) -> None:
    provider = provider_named(name, Settings(), "some-model")
    assert provider.name == name
    assert provider.model == "some-model"
    assert provider.problem()


def test_the_choice_follows_the_user_then_keys_then_the_embedded_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    assert choose(Settings()).name == "local"
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert choose(Settings()).name == "gemini"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert choose(Settings()).name == "anthropic"
    assert choose(Settings(provider="ollama")).name == "ollama"
    assert choose(Settings(provider="ollama"), "local").name == "local"
    with pytest.raises(SettingsError):
        choose(Settings(), "skynet")


def test_a_model_file_that_is_gone_is_named() -> None:
    problem = provider_named("local", Settings(), "/no/such/model.gguf").problem()
    assert problem is not None
    assert "/no/such/model.gguf" in problem


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that the demo is on Friday", "the demo is on Friday"),
        ("remember my favourite colour is blue", "my favourite colour is blue"),
        ("My name is Alice", None),
        ("Do you remember me?", None),
        ("Remember my password is hunter2", None),
    ],
)
def test_what_is_to_be_remembered_is_kept_and_nothing_else(
    tmp_path: Path, said: str, kept: str | None
) -> None:
    assert Memory(tmp_path).learn(said) == kept
    assert [fact.text for fact in Memory(tmp_path).all()] == ([kept] if kept else [])


def test_few_facts_are_always_recalled_and_of_many_those_with_a_word_of_the_request(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.keep("My name is Alice")
    memory.keep("my name is alice")
    assert [fact.text for fact in memory.recall("what is 2+2?")] == ["my name is alice"]
    for number in range(5):
        memory.keep(f"The code of room {number} is green")
    assert [fact.text for fact in memory.recall("what's my name?")] == ["my name is alice"]
    assert memory.recall("what is 2+2?") == []
    assert memory.forget() == 6
    assert memory.all() == []


def test_an_empty_memory_makes_no_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    assert (memory.recall("my name"), memory.search("name"), memory.all(), memory.forget()) == ([], [], [], 0)
    assert memory.learn("What is 2+2?") is None
    assert not memory.path.exists()


def test_a_damaged_memory_says_so(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.path.write_bytes(b"not a database, and long enough to be looked at" * 100)
    with pytest.raises(AgentError, match="cannot be used"):
        memory.learn("Remember my name is Alice")
    assert isinstance(sqlite3.DatabaseError(), Exception)


def spoken(*parts: dict[str, object]) -> dict[str, object]:
    return {"role": "assistant", "contents": list(parts)}


def test_a_call_without_its_result_is_not_part_of_what_was_finished() -> None:
    call = spoken({"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"})
    open_call = spoken({"type": "function_call", "call_id": "2", "name": "t", "arguments": "{}"})
    result = {"role": "tool", "contents": [{"type": "function_result", "call_id": "1", "result": "``` x"}]}
    conversation = SavedConversation("id", "now", [call, result, open_call])
    conversation.settle()
    assert conversation.messages == [call, result]
    assert conversation.title == "(empty)"
    assert "````\n``` x\n````" in as_markdown(conversation)


def test_of_two_calls_at_once_both_count_or_none() -> None:
    calls = spoken(*({"type": "function_call", "call_id": identity, "name": "t"} for identity in "12"))
    result = {"role": "tool", "contents": [{"type": "function_result", "call_id": "1", "result": "x"}]}
    conversation = SavedConversation("id", "now", [calls, result])
    conversation.settle()
    assert conversation.messages == []


def test_a_damaged_conversation_harms_no_other(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path)
    good = store.new()
    good.messages.append({"role": "user", "contents": [{"type": "text", "text": "Hi"}]})
    store.save(good)
    bad = store.new()
    store.save(bad)
    (store.folder / f"{bad.id}.json").write_text('{"version": 99}')
    assert [conversation.id for conversation in store.all()] == [good.id]
    with pytest.raises(ConversationError, match="cannot be read"):
        store.load(bad.id)
    with pytest.raises(ConversationError, match="More than one"):
        store.load(good.id[:3])


def test_no_id_reaches_another_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    with pytest.raises(ConversationError, match="No conversation"):
        ConversationStore(tmp_path).load("../secret")


async def test_the_agents_own_tools_say_hello() -> None:
    greet, hello = HelloTools().tools()
    assert (await hello.call({})).data["result"] == "Hello, World! ◉‿◉"  # type: ignore[index]
    for language in ("fr", "French", "fr-CA"):
        answer = (await greet.call({"name": "Alice", "language": language})).data
        assert answer["result"] == "Bonjour, Alice !"  # type: ignore[index]
    assert (await greet.call({"name": "Alice", "language": "Klingon"})).data["success"] is False  # type: ignore[index]
