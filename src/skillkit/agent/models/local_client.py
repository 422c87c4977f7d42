"""The embedded model as a chat client of Agent Framework."""

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    ResponseStream,
    UsageDetails,
)
from agent_framework.observability import ChatTelemetryLayer

from skillkit.agent.models.constrained import (
    Answer,
    AnswerStream,
    Call,
    ToolSpec,
    more_tools,
    parse,
    reply_schema,
    turns_before,
)
from skillkit.agent.models.demonstration import Turn
from skillkit.agent.models.engine import CONTEXT_TOKENS, MAX_ANSWER_TOKENS, LocalEngine, Reply
from skillkit.agent.models.examples import Example, nearest
from skillkit.agent.models.grounding import check_arguments
from skillkit.disclosure.envelope import is_skill_context
from skillkit.disclosure.tool_result import brief_text

MAX_RESULT_CHARACTERS = 6_000
CHARACTERS_PER_TOKEN = 3
MAX_TOOL_CALLS = 6


class LocalChatClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], BaseChatClient[Any]
):
    """Answers with a model in this process; the tools of a request become the grammar of the reply."""

    OTEL_PROVIDER_NAME: ClassVar[str] = "skillkit.local"

    def __init__(self, engine: LocalEngine, model: str) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": MAX_TOOL_CALLS})
        self.engine = engine
        self.model = model
        self.examples: Callable[[], Sequence[Example]] = tuple
        """The examples of the skills in use."""
        self._begun_with: tuple[str, frozenset[str]] = ("", frozenset())

    def _first_tools(self, instructions: str, tools: Sequence[ToolSpec]) -> frozenset[str]:
        """The tools that were there when these instructions were first read."""
        names = frozenset(tool.name for tool in tools)
        if self._begun_with[0] != instructions or not self._begun_with[1] <= names:
            self._begun_with = (instructions, names)
        return self._begun_with[1]

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        updates = self._updates(messages, options)
        if stream:
            return self._build_response_stream(updates)

        async def collected() -> ChatResponse[Any]:
            return ChatResponse.from_updates([update async for update in updates])

        return collected()

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        tools = disclosed(options)
        instructions = str(options.get("instructions") or "")
        first = [tool for tool in tools if tool.name in self._first_tools(instructions, tools)]
        added = [tool for tool in tools if tool not in first]
        shown = self._demonstrations(messages, tools)
        turns = as_turns(messages, instructions, first, added, shown, context=self.engine.context)
        schema = reply_schema(
            tools,
            answer=not tools or options.get("tool_choice") != "required",
            cannot=not messages or messages[-1].role != "tool",
        )
        grammar = as_grammar(schema)
        message_id = f"local-{secrets.token_hex(8)}"
        writing = AnswerStream()
        reply: Reply | None = None
        async for piece in self._pieces(turns, grammar, options):
            if isinstance(piece, Reply):
                reply = piece
                break
            if text := writing.feed(piece):
                yield self._update(message_id, Content.from_text(text))
        assert reply is not None
        outcome = None if writing.started else parse(reply.text)
        if isinstance(outcome, Call):
            outcome = check_arguments(outcome, tools, conversation_text(messages))
        yield self._end(reply, message_id, outcome)

    def _demonstrations(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[Turn]:
        """What the skills in use show of themselves, nearest to the request; only what can be called now."""
        answering = bool(messages) and messages[-1].role == "tool"  # from the result, and from nothing else
        callable_now = {tool.name for tool in tools}
        examples = [] if answering else [each for each in self.examples() if each.tool in callable_now]
        asked = next((message.text for message in reversed(messages) if message.role == "user"), "")
        return [
            turn
            for example in nearest(asked, examples)
            for turn in (
                {"role": "user", "content": _plain(example.request)},
                {"role": "assistant", "content": _plain(example.call())},
            )
        ]

    def _end(self, reply: Reply, message_id: str, outcome: Call | Answer | None) -> ChatResponseUpdate:
        usage = UsageDetails(
            input_token_count=reply.prompt_tokens,
            output_token_count=reply.reply_tokens,
            total_token_count=reply.prompt_tokens + reply.reply_tokens,
            cache_read_input_token_count=reply.prompt_tokens - reply.processed_tokens,
        )
        contents = [Content.from_usage(usage)] if reply.prompt_tokens else []
        finish = "length" if reply.cut else "stop"
        if isinstance(outcome, Call):
            arguments = json.dumps(outcome.arguments, ensure_ascii=False)
            call = Content.from_function_call(f"call-{message_id}", outcome.tool, arguments=arguments)
            contents.insert(0, call)
            finish = "tool_calls"
        elif outcome is not None:
            contents.insert(0, Content.from_text(outcome.text))
        return self._update(message_id, *contents, finish=finish)

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
        self, turns: Sequence[Turn], grammar: str, options: Mapping[str, Any]
    ) -> AsyncIterator[str | Reply]:
        """What the engine writes, from its own thread; leaving early stops the engine."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | Reply | BaseException] = asyncio.Queue()
        cancelled = threading.Event()

        def put(item: str | Reply | BaseException) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def on_text(text: str) -> bool:
            put(text)
            return cancelled.is_set()

        def work() -> None:
            try:
                put(
                    self.engine.reply(
                        turns,
                        grammar=grammar,
                        max_tokens=int(options.get("max_tokens") or MAX_ANSWER_TOKENS),
                        temperature=float(options.get("temperature") or 0.0),
                        on_text=on_text,
                    )
                )
            except Exception as error:
                put(error)

        threading.Thread(target=work, name="local-model", daemon=True).start()
        try:
            while True:
                item = await queue.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
                if isinstance(item, Reply):
                    return
        finally:
            cancelled.set()


def as_grammar(schema: Mapping[str, Any]) -> str:
    from xllamacpp import json_schema_to_grammar

    return str(json_schema_to_grammar(json.dumps(schema)))


def disclosed(options: Mapping[str, Any]) -> list[ToolSpec]:
    """The tools of this request."""
    if options.get("tool_choice") == "none":
        return []
    tools = options.get("tools") or ()
    return [
        ToolSpec(tool.name, tool.description, tool.parameters())
        for tool in tools
        if isinstance(tool, FunctionTool)
    ]


def as_turns(
    messages: Sequence[Message],
    instructions: str,
    tools: Sequence[ToolSpec],
    added: Sequence[ToolSpec] = (),
    examples: Sequence[Turn] = (),
    *,
    context: int = CONTEXT_TOKENS,
) -> list[Turn]:
    """The conversation as this model reads it, the oldest turns left out when it is too long.

    `added` are tools that came into reach during the conversation: naming them last leaves what was
    processed before as it is. `examples` are turns that show how skills in use are used.
    """
    spoken = [text for message in messages if message.role == "system" and (text := message.text)]
    before = turns_before(_plain("\n\n".join([instructions, *spoken]).strip()), tools)
    names = {
        content.call_id: content.name
        for message in messages
        for content in message.contents
        if content.type == "function_call"
    }
    turns = [turn for message in messages for turn in _turns(message, names)]
    room = (context - MAX_ANSWER_TOKENS) * CHARACTERS_PER_TOKEN - _length([*before, *examples])
    while len(turns) > 1 and _length(turns) > room:
        del turns[0]
    if added and turns:
        last = messages[-1].contents[-1] if messages[-1].contents else None
        loaded = last is not None and last.type == "function_result" and is_skill_context(str(last.result))
        asked = next((message.text for message in reversed(messages) if message.role == "user"), "")
        more = more_tools(added, _plain(asked) if loaded else "")
        turns[-1] = {**turns[-1], "content": turns[-1]["content"] + more}
    return [*before, *examples, *turns]


def conversation_text(messages: Sequence[Message]) -> str:
    """All that the user said and that tools returned."""
    parts = [message.text for message in messages if message.role == "user"]
    parts += [
        str(content.result)
        for message in messages
        for content in message.contents
        if content.type == "function_result"
    ]
    return "\n".join(parts)


def _length(turns: Sequence[Turn]) -> int:
    return sum(len(turn["content"]) for turn in turns)


def _turns(message: Message, names: Mapping[str | None, str | None]) -> list[Turn]:
    turns: list[Turn] = []
    for content in message.contents:
        match content.type:
            case "text" if content.text and message.role in ("user", "assistant"):
                text = _plain(content.text)
                turns.append({"role": message.role, "content": text})
            case "function_call":
                arguments = content.parse_arguments() or {}
                call = json.dumps({"tool": content.name, "arguments": arguments}, ensure_ascii=False)
                turns.append({"role": "assistant", "content": _plain(call)})
            case "function_result":
                name = names.get(content.call_id) or "the tool"
                text = _cut(brief_text(name, str(content.result)))
                turns.append({"role": "user", "content": _plain(text)})
    return turns


def _cut(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    return f"{text[:MAX_RESULT_CHARACTERS]}\n… (cut; {len(text):,} characters in all)"


def _plain(text: str) -> str:
    """Text that cannot pass for the marks between turns."""
    return text.replace("<|", "< |")
