"""Middleware that records each model request and tool call."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    ResponseStream,
)

from skillkit.agent.telemetry import Next, Step, Stopwatch, TokenCount, Trace, count, tool_result_text
from skillkit.disclosure.tools import Argument
from skillkit.integrations.agent_framework import INSERTED


class RequestTracer(ChatMiddleware):
    """Counts the tokens of each model request; `listed` returns those of the skills in the instructions.

    Texts inserted among the messages count as skills too.
    """

    def __init__(
        self,
        trace: Trace,
        listed: Callable[[], int],
        activity: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.trace = trace
        self.listed = listed
        self.activity = activity

    async def process(self, context: ChatContext, call_next: Next) -> None:
        watch = Stopwatch()
        options = context.options or {}
        instructions = str(options.get("instructions") or "")
        listed = self.listed()
        tools = [tool for tool in options.get("tools") or () if isinstance(tool, FunctionTool)]
        tool_tokens = count(json.dumps([tool.to_json_schema_spec() for tool in tools])) if tools else 0
        system = max(0, count(instructions) - listed)
        self.activity("thinking")

        def note(response: ChatResponse[Any]) -> None:
            # Counted here because history is added below this middleware.
            said = [message for message in context.messages if INSERTED not in message.additional_properties]
            inserted = [message for message in context.messages if INSERTED in message.additional_properties]
            messages = sum(count(_message_text(message)) for message in said)
            skills = listed + sum(count(_message_text(message)) for message in inserted)
            asked = [message.text for message in said if message.role == "user"]
            usage = response.usage_details or {}
            given = usage.get("input_token_count")
            cached = usage.get("cache_read_input_token_count")
            tokens = TokenCount(
                system=system,
                skills=skills,
                tools=tool_tokens,
                messages=messages,
                total=given if given is not None else system + skills + tool_tokens + messages,
                output=usage.get("output_token_count") or count(response.text),
                estimated=given is None,
            )
            processed = given - cached if given is not None and cached is not None else None
            self.trace.add(
                Step(
                    "model",
                    response.model or "model",
                    watch.seconds,
                    tokens,
                    processed,
                    instructions="\n\n".join([instructions, *(message.text for message in inserted)]),
                    request=asked[-1] if asked else "",
                    result=response.text,
                    calls=called_tools(response),
                )
            )

        await call_next()
        if isinstance(context.result, ResponseStream):
            stream = context.result.with_result_hook(note)
            context.result = ResponseStream(
                _noting_what_came(stream, note), finalizer=lambda updates: stream.get_final_response()
            )
        elif isinstance(context.result, ChatResponse):
            note(context.result)


def called_tools(response: ChatResponse[Any]) -> tuple[str, ...]:
    """Return the names of the tools called by a response."""
    contents = [content for message in response.messages for content in message.contents]
    return tuple(str(content.name) for content in contents if content.type == "function_call")


async def _noting_what_came(
    stream: ResponseStream[ChatResponseUpdate, ChatResponse[Any]], note: Callable[[ChatResponse[Any]], None]
) -> AsyncIterator[ChatResponseUpdate]:
    """Yield from the stream; if it is stopped or fails, the part received so far is counted."""
    came: list[ChatResponseUpdate] = []
    try:
        async for update in stream:
            came.append(update)
            yield update
    except BaseException:
        if came:
            note(ChatResponse.from_updates(came))
        raise


class ToolTracer(FunctionMiddleware):
    """Records each tool call and its duration."""

    def __init__(self, trace: Trace, activity: Callable[[str], object] = lambda text: None) -> None:
        self.trace = trace
        self.activity = activity

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        watch = Stopwatch()
        self.activity(_activity(context.function.name, _arguments(context)))
        await call_next()
        self.trace.add(
            Step(
                "tool",
                context.function.name,
                watch.seconds,
                arguments=json.dumps(_arguments(context), ensure_ascii=False, default=str),
                result=tool_result_text(context.result),
            )
        )


def _activity(tool: str, arguments: dict[str, Any]) -> str:
    """Describe a tool call for the progress display."""
    match arguments:  # a script is shown with its skill
        case {Argument.SCRIPT: str(script), Argument.ARGS: [*given]}:
            return f"running {' '.join([script, *map(str, given)])}"
        case {Argument.SCRIPT: str(script)}:
            return f"running {script}"
        case {Argument.SKILL: str(skill)}:
            return f"reading {skill}"
        case _:
            return f"running {tool}"


def _arguments(context: FunctionInvocationContext) -> dict[str, Any]:
    given = context.arguments
    return (
        dict(given) if isinstance(given, dict) else given.model_dump() if hasattr(given, "model_dump") else {}
    )


def _message_text(message: Message) -> str:
    parts = []
    for content in message.contents:
        match content.type:
            case "text":
                parts.append(content.text or "")
            case "function_call":
                parts.append(f"{content.name} {content.arguments}")
            case "function_result":
                parts.append(str(content.result))
    return "\n".join(parts)
