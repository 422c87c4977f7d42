"""Prompts of the embedded model: one for a tool call, one for a plain answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_framework import FunctionTool, Message

from skillkit.agent.local.engine import CONTEXT_TOKENS, MAX_ANSWER_TOKENS, Turn
from skillkit.agent.local.examples import Example
from skillkit.agent.local.reply import NO_TOOL_TEXT, Call, ToolSpec
from skillkit.disclosure.tools import Argument
from skillkit.integrations.agent_framework import INSERTED

CHARACTERS_PER_TOKEN = 3
SKILL_SHARE = 8
"""Divisor of the context: the share of the texts of skills."""
MAX_EARLIER_CHARACTERS = 600
"""Characters kept of an earlier answer in the prompt for a call."""


SYSTEM = f"""\
Reply to the last message with one JSON object.
{{"tool": NAME, "arguments": {{...}}}} calls the tool that does what is asked; take values from what was said.
{{"tool": "none"}} is for everything that no tool does: knowledge, arithmetic, writing, chat.

An example with other tools:
- get_weather(city: string, unit?: celsius|fahrenheit): Weather in a city.
- send_note(to: list of string, text: string): Send a note.
- script_run({Argument.SKILL}: pdf-forms, {Argument.SCRIPT}: count|fill, \
{Argument.ARGS}?: list of string): Run a script.
- list_skills(): List the skills."""

REAL = "That was an example. These are your tools, and there are no others:"


def exchange(user: str, reply: str) -> list[Turn]:
    """Return a request and its reply as turns."""
    return [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]


def _written(tool: str, **arguments: Any) -> str:
    return Call(tool, arguments).text()


_COUNT = {Argument.SKILL: "pdf-forms", Argument.SCRIPT: "count", Argument.ARGS: ["a.pdf", "--pages", "1"]}
DEMONSTRATION: list[Turn] = [
    {"role": "system", "content": SYSTEM},
    *exchange("what is 12 * 12?", NO_TOOL_TEXT),
    *exchange("how many °F in Oslo?", _written("get_weather", city="Oslo", unit="fahrenheit")),
    *exchange("who discovered penicillin?", NO_TOOL_TEXT),
    *exchange("use the weather skill for Rome", _written("get_weather", city="Rome")),
    *exchange("run count of pdf-forms on a.pdf with --pages 1", _written("script_run", **_COUNT)),
    *exchange("thanks, bye!", NO_TOOL_TEXT),
    *exchange("what can you do?", _written("list_skills")),
    *exchange("tell Ann and Bo: lunch at one", _written("send_note", to=["Ann", "Bo"], text="lunch at one")),
    *exchange("write one line about rain", NO_TOOL_TEXT),
]
"""A short conversation with fictitious tools that demonstrates the reply format."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A constant beginning, shared by requests, and the rest."""

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
    """Return the prompt for a call of one of `tools`, or none; `examples` are the nearest to the request."""
    listed = "\n".join(tool.line() for tool in tools)
    real = "\n\n".join(part for part in (f"{REAL}\n{listed}", skills) if part)
    fixed = [*DEMONSTRATION, {"role": "system", "content": _plain(real)}]
    shown = [turn for each in examples for turn in exchange(_plain(each.request), _plain(each.call.text()))]
    turns = [turn for message in said(messages) for turn in _call_turns(message)]
    return Prompt(fixed, [*shown, *_fitting(turns, context, _length([*fixed, *shown]))])


def plain_prompt(
    messages: Sequence[Message], instructions: str, skills: str, *, context: int = CONTEXT_TOKENS
) -> Prompt:
    """Return the prompt for a plain answer: no tools and no JSON."""
    told = _plain("\n\n".join(part for part in (instructions, skills) if part))
    fixed = [{"role": "system", "content": told}]
    turns = [
        {"role": message.role, "content": _plain(message.text)}
        for message in said(messages)
        if message.role in ("user", "assistant") and message.text
    ]
    return Prompt(fixed, _fitting(turns, context, _length(fixed)))


def said(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation without inserted texts."""
    return [message for message in messages if INSERTED not in message.additional_properties]


def inserted_skills(messages: Sequence[Message], context: int) -> str | None:
    """Return the inserted texts of skills; None if they exceed their share of the context."""
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
    """Return the user's latest message."""
    return next((message.text for message in reversed(said(messages)) if message.role == "user"), "")


def known_values(messages: Sequence[Message]) -> str:
    """Return all text of the user's messages and of tool results."""
    parts = [message.text for message in said(messages) if message.role == "user"]
    parts += [
        str(content.result)
        for message in messages
        for content in message.contents
        if content.type == "function_result"
    ]
    return "\n".join(parts)


def _call_turns(message: Message) -> list[Turn]:
    """Convert an earlier message for a call prompt: calls in the model's format, answers truncated."""
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
    """Drop the oldest turns until the rest fits into the context beside `taken` characters."""
    space = (context - MAX_ANSWER_TOKENS) * CHARACTERS_PER_TOKEN - taken
    while len(turns) > 1 and _length(turns) > space:
        turns = turns[1:]
    return turns


def _length(turns: Sequence[Turn]) -> int:
    return sum(len(turn["content"]) for turn in turns)


def _plain(text: str) -> str:
    """Escape the marks that separate turns."""
    return text.replace("<|", "< |")
