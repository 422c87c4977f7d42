"""The programs of docs/other-frameworks.md with the real frameworks; `dev.py columns peers` runs them.

Each model is scripted: it loads a skill, gets its text, and is done.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from skillkit.integrations import SkillTools

ROOT = Path(__file__).parents[3]
LOAD = {"skill_id": "csv-report"}
TEXT = '<skill_context id="csv-report">'
LIST = "- csv-report:"


@pytest.fixture
def skills() -> SkillTools:
    return SkillTools(ROOT / "examples" / "skills")


def recipe(title: str) -> ModuleType:
    """The code below a heading of the page."""
    section = (ROOT / "docs" / "other-frameworks.md").read_text().split(f"\n## {title}\n")[1]
    module = ModuleType(title)
    exec(section.split("```py\n")[1].split("```")[0], module.__dict__)
    return module


def test_strands(skills: SkillTools):
    pytest.importorskip("strands")
    from strands.models.model import Model

    seen: list[Any] = []

    class Scripted(Model):
        def update_config(self, **config: Any) -> None: ...
        def get_config(self) -> Any:
            return {}

        async def structured_output(self, *args: Any, **kwargs: Any) -> Any:
            yield {}

        async def stream(
            self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any
        ) -> Any:
            seen.append((system_prompt, [spec["name"] for spec in tool_specs], str(messages[-1])))
            yield {"messageStart": {"role": "assistant"}}
            if len(seen) == 1:
                start = {"toolUse": {"toolUseId": "1", "name": "load_skill"}}
                yield {"contentBlockStart": {"start": start}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"skill_id": "csv-report"}'}}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use"}}
                return
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    agent = recipe("Strands Agents").agent_with_skills(skills, model=Scripted(), callback_handler=None)
    assert str(agent("Good morning.")).strip() == "Done."
    assert LIST in seen[0][0]
    assert seen[0][1] == ["load_skill", "read_skill_resource"]
    assert TEXT in seen[1][2]
    assert "'status': 'success'" in seen[1][2]


def test_dspy(skills: SkillTools):
    dspy = pytest.importorskip("dspy")
    from dspy.utils import DummyLM

    model = DummyLM(
        [
            {"next_thought": "Load it.", "next_tool_name": "load_skill", "next_tool_args": LOAD},
            {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": {}},
            {"reasoning": "It is loaded.", "answer": "Done."},
        ]
    )
    with dspy.context(lm=model):
        found = recipe("DSPy").module_with_skills(skills)(question="Good morning.")
    assert found.answer == "Done."
    assert LIST in str(model.history[0]["messages"])
    assert TEXT in str(found.trajectory)


async def test_llama_index(skills: SkillTools):
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import ToolSelection

    seen: list[Any] = []

    class Scripted(MockFunctionCallingLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_function_calling_model=True)

        def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **_: Any) -> Any:
            return {"messages": chat_history, "tools": [tool.metadata.to_openai_tool() for tool in tools]}

        def get_tool_calls_from_response(self, response: Any, **_: Any) -> list[ToolSelection]:
            if response.message.content:
                return []
            return [ToolSelection(tool_id="1", tool_name="load_skill", tool_kwargs=LOAD)]

        async def astream_chat(self, messages: Any, tools: Any = None, **_: Any) -> Any:
            seen.append((str(messages), tools))
            said = "" if len(seen) == 1 else "Done."

            async def stream() -> Any:
                yield ChatResponse(message=ChatMessage(role="assistant", content=said), delta=said)

            return stream()

    agent = recipe("LlamaIndex").agent_with_skills(skills, llm=Scripted())
    assert str(await agent.run("Good morning.")) == "Done."
    assert LIST in seen[0][0]
    assert [tool["function"]["name"] for tool in seen[0][1]] == ["load_skill", "read_skill_resource"]
    assert seen[0][1][0]["function"]["parameters"]["required"] == ["skill_id"]
    assert TEXT in seen[1][0]


def test_smolagents(skills: SkillTools):
    pytest.importorskip("smolagents")
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        Model,
    )

    seen: list[str] = []

    class Scripted(Model):
        def generate(self, messages: Any, **_: Any) -> ChatMessage:
            seen.append(str(messages))
            done = ("final_answer", {"answer": "Done."})
            name, arguments = ("load_skill", LOAD) if len(seen) == 1 else done
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(function=function, id=str(len(seen)), type="function")
            return ChatMessage(role="assistant", content="", tool_calls=[call])

    agent = recipe("smolagents").agent_with_skills(skills, model=Scripted(), verbosity_level=0)
    assert agent.run("Good morning.") == "Done."
    assert LIST in seen[0]
    assert TEXT in seen[1]


def test_crewai(skills: SkillTools, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("CREWAI_TRACING_ENABLED", "false")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    pytest.importorskip("crewai")
    from crewai import BaseLLM

    seen: list[str] = []

    class Scripted(BaseLLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            seen.append(str(messages))
            if len(seen) == 1:
                return 'Thought: load\nAction: load_skill\nAction Input: {"skill_id": "csv-report"}'
            return "Thought: I now know the final answer\nFinal Answer: Done."

        def supports_function_calling(self) -> bool:
            return False

    agent = recipe("CrewAI").agent_with_skills(
        skills, role="Clerk", goal="Help.", llm=Scripted(model="scripted")
    )
    assert agent.kickoff("Good morning.").raw == "Done."
    assert LIST in seen[0]
    assert TEXT in seen[1]
