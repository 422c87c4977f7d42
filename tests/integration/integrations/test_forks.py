"""Skills with `context: fork`: what they may do, who is asked, and the model and effort they get."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent as FrameworkAgent
from agents import Runner
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from conformance.drivers.agent_framework import ScriptedClient
from conformance.library import Library, friendly, write
from conformance.script import Call, Driver, Model
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from skillkit.core.events import Event
from skillkit.disclosure import SkillSession
from skillkit.disclosure.disclosed import ModelChoice
from skillkit.integrations.agent_framework import SkillsContextProvider
from skillkit.integrations.conversation import Conversation, ForkedSkill
from skillkit.integrations.langchain import SkillsMiddleware
from skillkit.integrations.openai_agents import SkillAgent
from skillkit.integrations.pydantic_ai import SkillsCapability

FORK = "context: fork\nmodel: haiku\neffort: high\n"
LOAD = {"skill_id": "deep-dive", "arguments": "tides"}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = friendly(tmp_path / "skills")
    write(library.folder, "deep-dive", "Study one subject in depth.", "Study $ARGUMENTS.\n", FORK)
    write(library.folder, "other-dive", "Study another subject in depth.", "Go on.\n", "context: fork\n")
    hidden = "context: fork\ndisable-model-invocation: yes\n"
    write(library.folder, "hidden-dive", "Only the user starts it.", "Go.\n", hidden)
    library.manager.refresh()
    return library


class Forks:
    """A framework that notes what it is given to run."""

    def __init__(self) -> None:
        self.started: list[ForkedSkill] = []

    async def __call__(self, forked: ForkedSkill) -> str:
        self.started.append(forked)
        return "what it came to"


async def test_a_request_that_fits_is_told_how_to_start_the_skill(library: Library) -> None:
    conversation = Conversation(library.provider, fork=Forks())
    disclosure = conversation.disclose("Study one subject in depth, the tides.")
    assert disclosure.active == ()
    assert "<id>deep-dive</id> fits and runs as a conversation of its own" in disclosure.note
    inline = Conversation(library.provider).disclose("Study one subject in depth, the tides.")
    assert "deep-dive" in inline.active
    assert "here it is part of this one" in inline.everything


async def test_the_user_starts_what_a_model_may_not(library: Library) -> None:
    forks = Forks()
    conversation = Conversation(library.provider, fork=forks)
    conversation.disclose("Good morning.")
    refused = await conversation.call("load_skill", {"skill_id": "hidden-dive"})
    assert refused.failed
    note = conversation.disclose("/hidden-dive the <tides>").note
    assert "call load_skill with this id and <arguments>the &lt;tides&gt;</arguments>" in note
    done = await conversation.call("load_skill", {"skill_id": "hidden-dive", "arguments": "the tides"})
    assert "what it came to" in done.text
    assert [forked.skill.name for forked in forks.started] == ["hidden-dive"]
    conversation.disclose("Good evening.")
    assert (await conversation.call("load_skill", {"skill_id": "hidden-dive"})).failed


async def test_a_fork_starts_no_other(library: Library) -> None:
    forks = Forks()
    await Conversation(library.provider, fork=forks).call("load_skill", LOAD)
    within = forks.started[0].conversation
    within.fork = forks
    inner = await within.call("load_skill", {"skill_id": "other-dive"})
    assert "here it is part of this one" in inner.text
    assert len(forks.started) == 1


async def test_an_agent_whose_definition_is_not_read_is_said_in_the_result(library: Library) -> None:
    for name, agent in (("by-reviewer", "<reviewer>"), ("by-planner", "Plan")):
        write(library.folder, name, "Study.", "Go.\n", f"context: fork\nagent: {agent!r}\n")
    library.manager.refresh()
    conversation = Conversation(library.provider, fork=Forks())
    said = (await conversation.call("load_skill", {"skill_id": "by-reviewer"})).text
    assert "the agent <id>&lt;reviewer&gt;</id>, whose definition is not read here" in said
    for plain in ("by-planner", "deep-dive"):
        assert "not read here" not in (await conversation.call("load_skill", {"skill_id": plain})).text


async def test_who_is_asked_in_a_fork_is_who_is_asked_outside(library: Library) -> None:
    forks, asked = Forks(), []

    def approve(tool: str, arguments: Any) -> bool:
        asked.append(tool)
        return False

    await Conversation(library.provider, approve=approve, fork=forks).call("load_skill", LOAD)
    run = {"skill_id": "runner", "script_name": "echo"}
    assert (await forks.started[0].conversation.call("script_run", run)).failed
    assert asked == ["script_run"]


async def test_the_journal_says_which_conversation_was_started(library: Library) -> None:
    class Kept:
        events: list[Event] = []  # noqa: RUF012

        def record(self, event: Event) -> None:
            self.events.append(event)

        def close(self) -> None: ...

    library.manager.journal = Kept()
    forks = Forks()
    conversation = Conversation(library.provider, fork=forks)
    await conversation.call("load_skill", LOAD)
    [event] = [event for event in Kept.events if "fork" in event.data]
    assert event.skill == "deep-dive"
    assert event.conversation == conversation.session.id
    assert event.data["fork"] == forks.started[0].conversation.session.id


def test_a_choice_lasts_for_the_turn_that_brought_the_skill(library: Library) -> None:
    write(
        library.folder, "careful", "Careful proofreading of letters.", "Go.\n", "model: opus\neffort: max\n"
    )
    library.manager.refresh()
    conversation = Conversation(library.provider, SkillSession())
    conversation.disclose("/careful")
    assert conversation.model_choice == ModelChoice("opus", "max")
    conversation.disclose("Good morning.")
    assert conversation.model_choice == ModelChoice()


async def test_agent_framework_hands_on_model_and_effort(library: Library) -> None:
    seen: list[Any] = []

    class Recording(ScriptedClient):
        def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> Any:
            seen.append((options.get("model"), options.get("reasoning_effort")))
            return super()._inner_get_response(messages=messages, stream=stream, options=options, **more)

    driver = _Script([[Call("load_skill", LOAD)], "Twice a day.", "Done."])
    provider = SkillsContextProvider(
        library.provider,
        models={"haiku": "small"},
        effort_options=lambda effort: {"reasoning_effort": effort},
    )
    agent = FrameworkAgent(Recording(driver), "Be brief.", context_providers=[provider])
    assert (await agent.run("Good morning.")).text == "Done."
    assert seen == [(None, None), ("small", "high"), (None, None)]


async def test_pydantic_ai_hands_on_model_and_effort(library: Library) -> None:
    seen: list[Any] = []

    class Noting(FunctionModel):
        async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> Any:
            seen.append((self.model_name, (model_settings or {}).get("thinking")))
            return await super().request(messages, model_settings, model_request_parameters)

    def outer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        first = len(messages) == 1
        return ModelResponse([ToolCallPart("load_skill", LOAD) if first else TextPart("Done.")])

    def inner(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart("Twice a day.")])

    small = Noting(inner, model_name="small")
    capability = SkillsCapability[None](library.provider, models={"haiku": small})
    agent = PydanticAgent(Noting(outer, model_name="large"), capabilities=[capability])
    assert (await agent.run("Good morning.")).output == "Done."
    assert seen == [("large", None), ("small", "high"), ("large", None)]


async def test_langchain_hands_on_model_and_effort(library: Library) -> None:
    small = _BoundModel(messages=iter([AIMessage("Twice a day.")]))
    call = {"name": "load_skill", "args": LOAD, "id": "1"}
    large = _BoundModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Done.")]))
    middleware = SkillsMiddleware(
        library.provider, models={"haiku": small}, effort_settings=lambda effort: {"reasoning": effort}
    )
    agent = create_agent(large, middleware=[middleware])
    result = await agent.ainvoke({"messages": [("user", "Good morning.")]})
    assert result["messages"][-1].text == "Done."
    assert (small.settings, large.settings) == ([{"reasoning": "high"}], [{}, {}])


async def test_openai_agents_hands_on_model_and_effort(library: Library) -> None:
    efforts: list[object] = []

    def answering(model: ScriptedModel, *answers: Any) -> ScriptedModel:
        def respond(answer: Any) -> ModelStep:
            def note(call: ModelCall) -> list[Any]:
                reasoning = call.model_settings.reasoning
                efforts.append(reasoning.effort if reasoning is not None else None)
                return [answer]

            return ModelStep.respond(note)

        model.extend([respond(answer) for answer in answers])
        return model

    load = function_call("load_skill", json.dumps(LOAD), call_id="1")
    agent = SkillAgent[None](
        name="assistant",
        model=answering(ScriptedModel(), load, assistant_message("Done.")),
        conversation=Conversation(library.provider),
        skill_models={"haiku": answering(ScriptedModel(), assistant_message("Twice a day."))},
        takes_effort=True,
    )
    assert (await Runner.run(agent, "Good morning.")).final_output == "Done."
    assert efforts == [None, "high", None]


class _BoundModel(GenericFakeChatModel):
    settings: list[dict[str, Any]] = []  # noqa: RUF012

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        settings.pop("tool_choice", None)
        self.settings = [*self.settings, settings]
        return self


class _Script(Driver):
    """Replies without a conversation of its own."""

    def __init__(self, replies: list[Any]) -> None:
        self.model = Model()
        self.model.begin(replies)

    async def turn(self, *given: Any, **more: Any) -> Any:
        raise NotImplementedError


def test_a_fork_is_cancelled_with_the_conversation(library: Library) -> None:
    ended: list[str] = []

    async def endless(forked: ForkedSkill) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(forked.skill.name)
        return ""

    async def start() -> None:
        task = asyncio.create_task(Conversation(library.provider, fork=endless).call("load_skill", LOAD))
        while not ended and not task.done():
            await asyncio.sleep(0.01)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(start())
