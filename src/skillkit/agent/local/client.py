"""The embedded model as a chat client of Agent Framework: one call under a grammar, or a plain answer."""

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ClassVar

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UsageDetails,
)
from agent_framework.observability import ChatTelemetryLayer

from skillkit.agent.local.engine import MAX_ANSWER_TOKENS, LocalEngine, Reply
from skillkit.agent.local.examples import Example, brief, examples_of, help_text, nearest
from skillkit.agent.local.prompt import (
    Prompt,
    call_prompt,
    inserted_skills,
    known_values,
    latest_request,
    plain_prompt,
    said,
    tools_of,
)
from skillkit.agent.local.reply import Call, ToolSpec, missing_value, parse, reply_schema
from skillkit.agent.local.results import answer_from_result
from skillkit.agent.local.tools import skills_of_turn
from skillkit.agent.models.provider import UNAIDED
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.threads import in_daemon_thread
from skillkit.disclosure import SkillSession
from skillkit.disclosure.tools import Argument, named_skill

NOTHING_READ = Reply("", prompt_tokens=0, processed_tokens=0, reply_tokens=0, cut=False)


class TurnSkills:
    """The skills of a turn: examples, usage and help for the prompt."""

    def __init__(self, manager: SkillManager, session: Callable[[], SkillSession]) -> None:
        self.manager = manager
        self._session = session
        self._examples: dict[str, list[Example]] = {}

    def skills(self) -> list[SkillMetadata]:
        return skills_of_turn(self.manager, self._session())

    def examples(self, request: str, tools: Sequence[ToolSpec]) -> list[Example]:
        """Return the examples nearest to a request that call one of `tools`."""
        on_offer = {tool.name for tool in tools}
        for skill in self.skills():
            if skill.name not in self._examples:
                self._examples[skill.name] = examples_of(skill)
        found = [example for skill in self.skills() for example in self._examples[skill.name]]
        return nearest(request, [example for example in found if example.call.tool in on_offer])

    def brief(self, request: str) -> str:
        """Return usage lines and files, used when the texts of the skills are too long."""
        return "\n\n".join(brief(skill, self.manager, request) for skill in self.skills())

    def help_text(self, call: Call) -> str:
        """Return the help text of the script that a call runs."""
        skill = self.manager.find_skill(named_skill(call.arguments))
        return help_text(skill, str(call.arguments.get(Argument.SCRIPT, ""))) if skill is not None else ""


class LocalChatClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], BaseChatClient[Any]
):
    """A chat client for a model in this process: fills in a tool call or answers in plain words."""

    OTEL_PROVIDER_NAME: ClassVar[str] = "skillkit.local"

    def __init__(self, engine: LocalEngine, model: str) -> None:
        super().__init__()
        self.engine = engine
        self.model = model
        self.skills: TurnSkills | None = None

    def use_skills(self, skills: TurnSkills) -> None:
        """Use these skills for the requests of a conversation."""
        self.skills = skills

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        updates = self._updates(messages, options)
        return self._build_response_stream(updates) if stream else ChatResponse.from_update_generator(updates)

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        message_id = f"local-{secrets.token_hex(8)}"
        if (result := _final_result(messages)) is not None:
            yield self._end(NOTHING_READ, message_id, Content.from_text(answer_from_result(result)))
            return
        request = latest_request(messages)
        skills = await asyncio.to_thread(self._skills_text, messages, request)
        spent = NOTHING_READ
        if tools := tools_of(options):
            required = options.get("tool_choice") == "required"
            examples = self.skills.examples(request, tools) if self.skills is not None else ()
            prompt = call_prompt(messages, tools, skills, examples, context=self.engine.context)
            grammar = as_grammar(reply_schema(tools, required=required))
            async for piece in self._pieces(prompt, grammar, options):
                if isinstance(piece, Reply):
                    spent = piece
            call = parse(spent.text)
            if call is not None:
                yield self._end(spent, message_id, self._checked(call, tools, messages, message_id))
                return
        instructions = str(options.get("instructions") or "")
        prompt = plain_prompt(messages, instructions, skills, context=self.engine.context)
        async with aclosing(self._pieces(prompt, None, options)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    spent = piece.after(spent)
                else:
                    yield self._update(message_id, Content.from_text(piece))
        yield self._end(spent, message_id, unaided=True)

    def _skills_text(self, messages: Sequence[Message], request: str) -> str:
        text = inserted_skills(messages, self.engine.context)
        if text is not None or self.skills is None:
            return text or ""
        return self.skills.brief(request)

    def _checked(
        self, call: Call, tools: Sequence[ToolSpec], messages: Sequence[Message], message_id: str
    ) -> Content:
        """Return the call, or a question for a value missing from the conversation; it is asked only once."""
        known = known_values(messages)
        if self.skills is not None:
            known = f"{known}\n{self.skills.help_text(call)}"
        tool = next(tool for tool in tools if tool.name == call.tool)
        question = missing_value(call, tool, known)
        if question is not None and question != _last_answer(messages):
            return Content.from_text(question)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        return Content.from_function_call(f"call-{message_id}", call.tool, arguments=arguments)

    def _end(
        self, reply: Reply, message_id: str, content: Content | None = None, *, unaided: bool = False
    ) -> ChatResponseUpdate:
        usage = UsageDetails(
            input_token_count=reply.prompt_tokens,
            output_token_count=reply.reply_tokens,
            total_token_count=reply.prompt_tokens + reply.reply_tokens,
            cache_read_input_token_count=reply.prompt_tokens - reply.processed_tokens,
        )
        contents = [*([content] if content is not None else ()), Content.from_usage(usage)]
        calls = content is not None and content.type == "function_call"
        finish = "tool_calls" if calls else "length" if reply.cut and content is None else "stop"
        update = self._update(message_id, *contents, finish=finish)
        if unaided:
            update.additional_properties = {UNAIDED: True}
        return update

    def _update(self, message_id: str, *contents: Content, finish: Any = None) -> ChatResponseUpdate:
        return ChatResponseUpdate(
            role="assistant",
            contents=list(contents),
            message_id=message_id,
            response_id=message_id,
            model=self.model,
            finish_reason=finish,
        )

    async def _pieces(
        self, prompt: Prompt, grammar: str | None, options: Mapping[str, Any]
    ) -> AsyncGenerator[str | Reply]:
        """Yield the engine's output from its own thread; leaving early stops the engine."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        cancelled = threading.Event()

        def on_text(text: str) -> bool:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, text)
            return cancelled.is_set()

        reply = asyncio.create_task(
            in_daemon_thread(
                self.engine.reply,
                [*prompt.fixed, *prompt.turns],
                fixed=len(prompt.fixed),
                grammar=grammar,
                max_tokens=int(options.get("max_tokens") or MAX_ANSWER_TOKENS),
                temperature=float(options.get("temperature") or 0.0),
                on_text=on_text,
            )
        )
        reply.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (piece := await queue.get()) is not None:
                yield piece
            yield await reply
        finally:
            cancelled.set()
            reply.cancel()


def as_grammar(schema: Mapping[str, Any]) -> str:
    """Convert a JSON schema to a grammar of llama.cpp."""
    from xllamacpp import json_schema_to_grammar

    return str(json_schema_to_grammar(json.dumps(schema)))


def _final_result(messages: Sequence[Message]) -> str | None:
    """Return the tool result at the end of the conversation, if any."""
    spoken = said(messages)
    if not spoken or spoken[-1].role != "tool":
        return None
    results = [str(content.result) for content in spoken[-1].contents if content.type == "function_result"]
    return results[-1] if results else None


def _last_answer(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "assistant"), "")
