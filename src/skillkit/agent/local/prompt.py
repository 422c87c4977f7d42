"""What the embedded model reads: a prompt for a call, and a plain one for an answer in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_framework import FunctionTool, Message

from skillkit.agent.local.demonstration import DEMONSTRATION, REAL, exchange
from skillkit.agent.local.engine import CONTEXT_TOKENS, MAX_ANSWER_TOKENS, Turn
from skillkit.agent.local.examples import Example
from skillkit.agent.local.reply import Call, ToolSpec
from skillkit.integrations.agent_framework import INSERTED

CHARACTERS_PER_TOKEN = 3
SKILL_SHARE = 8
"""Divisor of the context: the texts of skills may take one part in this many."""
MAX_EARLIER_CHARACTERS = 600
"""Of an earlier answer, where only a call is wanted."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A beginning that stays the same from request to request, and the rest."""

    fixed: list[Turn]
    turns: list[Turn]


def call_prompt(
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    skills: str,
    examples: Sequence[Example],
    *,
    context: int = CONTEXT_TOKENS,
) -> Prompt:
    """Return the prompt for a call of one of `tools`, or none; `examples` are nearest to the request."""
    listed = "\n".join(tool.line() for tool in tools)
    real = "\n\n".join(part for part in (f"{REAL}\n{listed}", skills) if part)
    fixed = [*DEMONSTRATION, {"role": "system", "content": _plain(real)}]
    shown = [turn for each in examples for turn in exchange(_plain(each.request), _plain(each.call.text()))]
    turns = [turn for message in said(messages) for turn in _call_turns(message)]
    return Prompt(fixed, [*shown, *_fitting(turns, context, _length([*fixed, *shown]))])


def plain_prompt(
    messages: Sequence[Message], instructions: str, skills: str, *, context: int = CONTEXT_TOKENS
) -> Prompt:
    """Return the prompt for an answer in words: no tools and no JSON."""
    told = _plain("\n\n".join(part for part in (instructions, skills) if part))
    fixed = [{"role": "system", "content": told}]
    turns = [
        {"role": message.role, "content": _plain(message.text)}
        for message in said(messages)
        if message.role in ("user", "assistant") and message.text
    ]
    return Prompt(fixed, _fitting(turns, context, _length(fixed)))


def said(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation without the texts that were inserted into it."""
    return [message for message in messages if INSERTED not in message.additional_properties]


def inserted_skills(messages: Sequence[Message], context: int) -> str | None:
    """Return the texts of skills among the messages; None if they exceed their share of the context."""
    texts = [message.text for message in messages if message.additional_properties.get(INSERTED)]
    text = "\n\n".join(dict.fromkeys(texts))
    return text if len(text) <= context * CHARACTERS_PER_TOKEN // SKILL_SHARE else None


def tools_of(options: Mapping[str, object]) -> list[ToolSpec]:
    """Return the tools of a request."""
    tools = options.get("tools")
    if options.get("tool_choice") == "none" or not isinstance(tools, list | tuple):
        return []
    return [
        ToolSpec(tool.name, tool.description, tool.parameters())
        for tool in tools
        if isinstance(tool, FunctionTool)
    ]


def latest_request(messages: Sequence[Message]) -> str:
    """Return what the user said last."""
    return next((message.text for message in reversed(said(messages)) if message.role == "user"), "")


def known_values(messages: Sequence[Message]) -> str:
    """Return all that the user said and that tools returned."""
    parts = [message.text for message in said(messages) if message.role == "user"]
    parts += [
        str(content.result)
        for message in messages
        for content in message.contents
        if content.type == "function_result"
    ]
    return "\n".join(parts)


def _call_turns(message: Message) -> list[Turn]:
    """Return an earlier message where a call is wanted: calls as the model writes them, answers cut."""
    turns: list[Turn] = []
    for content in message.contents:
        if content.type == "function_call":
            call = Call(str(content.name), content.parse_arguments() or {})
            turns.append({"role": "assistant", "content": _plain(call.text())})
        elif content.type == "text" and content.text and message.role in ("user", "assistant"):
            longest = len(content.text) if message.role == "user" else MAX_EARLIER_CHARACTERS
            turns.append({"role": message.role, "content": _plain(content.text[:longest])})
    return turns


def _fitting(turns: list[Turn], context: int, taken: int) -> list[Turn]:
    """Return the turns without the oldest ones where there is no space beside `taken`."""
    space = (context - MAX_ANSWER_TOKENS) * CHARACTERS_PER_TOKEN - taken
    while len(turns) > 1 and _length(turns) > space:
        turns = turns[1:]
    return turns


def _length(turns: Sequence[Turn]) -> int:
    return sum(len(turn["content"]) for turn in turns)


def _plain(text: str) -> str:
    """Return text that cannot pass for the marks between turns."""
    return text.replace("<|", "< |")
