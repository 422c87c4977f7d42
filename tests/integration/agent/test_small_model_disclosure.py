"""A small model takes whatever tool it sees, so it is shown those that a request speaks of, and no other."""

from collections.abc import Callable

import pytest
from openai_server import OpenAIServer

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.models.choice import choose
from skillkit.agent.models.engine import Reply
from skillkit.agent.models.local import LocalProvider
from skillkit.agent.models.local_client import LocalChatClient
from skillkit.agent.runtime import AgentRuntime, find_enabled
from skillkit.agent.settings import Settings


@pytest.fixture
def ask(online: OpenAIServer):
    """The agent as it treats its embedded model, with the server in the model's place."""

    async def call(*requests: str) -> list[str]:
        client = choose(Settings()).client()
        runtime = AgentRuntime(LocalProvider(), find_enabled(print), ConversationStore().new(), client=client)
        for request in requests:
            await runtime.answer(request)
        await runtime.close()
        return online.requests[-1].tools

    return call


@pytest.mark.parametrize("request_", ["What is 2+2?", "Turn off the radio", "What skills do you have?"])
async def test_a_request_that_speaks_of_no_tool_sees_none(ask, request_: str) -> None:
    assert await ask(request_) == []


async def test_without_skills_a_greeting_sees_the_agents_own_tool_and_so_does_what_follows(
    ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "none")
    assert await ask("Say bonjour to Alice") == ["greet_user"]
    assert await ask("Say bonjour to Alice", "And to Bob") == ["greet_user"]


async def test_a_skill_that_the_request_is_near_can_be_loaded(ask, online: OpenAIServer) -> None:
    assert await ask("Tell me a story about the past and the future of trains") == ["load_skill"]
    (load,) = online.requests[-1].body["tools"]
    assert load["function"]["parameters"]["properties"]["skill_id"]["enum"] == ["kalshi-markets"]


async def test_a_skill_that_matched_brings_its_tools_and_no_other_is_offered(ask) -> None:
    tools = await ask("Greet Alice in French")
    assert "greet_in_language" in tools
    assert "load_skill" not in tools


async def test_a_slip_in_a_word_that_a_skill_declares_is_no_hindrance(ask) -> None:
    assert "greet_in_language" in await ask("Gret Alice in French")


class _RecordingEngine:
    """Answers every request and keeps what a reply may have been."""

    context = 8192
    grammar = ""

    def reply(self, *_: object, grammar: str | None, on_text: Callable[[str], bool], **__: object) -> Reply:
        self.grammar = grammar or ""
        text = '{"answer": "Well."}'
        on_text(text)
        return Reply(text, 10, 10, 5, cut=False)


async def test_help_with_a_script_is_for_those_who_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "hello-extended")
    engine = _RecordingEngine()
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]
    runtime = AgentRuntime(LocalProvider(), find_enabled(print), ConversationStore().new(), client=client)
    await runtime.answer("Please welcome Ann warmly")
    assert "greet_in_language" in engine.grammar
    assert "script_help" not in engine.grammar
    await runtime.close()
