"""A conversation as the embedded model reads it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_framework import Message

from skillkit.agent.models.constrained import ToolSpec, more_tools, turns_before
from skillkit.agent.models.demonstration import Turn
from skillkit.agent.models.engine import CONTEXT_TOKENS, MAX_ANSWER_TOKENS
from skillkit.agent.models.examples import NO_EXAMPLES, Example, Examples
from skillkit.disclosure.envelope import is_skill_context
from skillkit.disclosure.tool_result import brief_text

MAX_RESULT_CHARACTERS = 6_000
CHARACTERS_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads: a beginning that stays the same from request to request, and the rest."""

    fixed: list[Turn]
    turns: list[Turn]

    def adding(self, text: str) -> "Prompt":
        """Return a prompt with more at the end of its last turn."""
        if not text or not self.turns:
            return self
        *before, last = self.turns
        return Prompt(self.fixed, [*before, {**last, "content": f"{last['content']}\n\n{_plain(text)}"}])


def make_prompt(
    messages: Sequence[Message],
    instructions: str,
    tools: Sequence[ToolSpec],
    added: Sequence[ToolSpec] = (),
    examples: Examples = NO_EXAMPLES,
    *,
    context: int = CONTEXT_TOKENS,
) -> Prompt:
    """The conversation as this model reads it, the oldest turns left out when it is too long.

    `added` are tools that came into reach during the conversation: naming them last leaves what was
    processed before as it is. `examples` show how skills in use are used.
    """
    spoken = [text for message in messages if message.role == "system" and (text := message.text)]
    opening = _without_frame(_plain("\n\n".join([instructions, *spoken]).strip()))
    fixed = [*turns_before(opening, tools), *_shown(examples.fixed)]
    nearest = _shown(examples.nearest)
    turns = _conversation(messages, context, _length([*fixed, *nearest]))
    if added and turns:
        last = messages[-1].contents[-1] if messages[-1].contents else None
        loaded = last is not None and last.type == "function_result" and is_skill_context(str(last.result))
        more = more_tools(added, _plain(latest_request(messages)) if loaded else "")
        turns[-1] = {**turns[-1], "content": turns[-1]["content"] + more}
    return Prompt(fixed, [*nearest, *turns])


_RESULTS = "To a calculation, reply with the number alone. Write code only if code is asked for."


def make_talk(messages: Sequence[Message], instructions: str, *, context: int = CONTEXT_TOKENS) -> Prompt:
    """The conversation for an answer in words alone: without tools, and how they are called."""
    plain = _plain(_LISTED_SKILLS.sub("", instructions).strip())
    told = {"role": "system", "content": f"{plain}\n{_RESULTS}"}
    return Prompt([], [told, *_conversation(messages, context, len(told["content"]))])


_CALLING = """\
Reply to the last message with one JSON object: a call of one of these tools, or {"ask": QUESTION} where
a name or value that the tool needs was not said. Give only what was said."""


def make_command(
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    examples: Sequence[Example],
    *,
    context: int = CONTEXT_TOKENS,
) -> Prompt:
    """The conversation for a request that these tools are for: with what examples show of them alone."""
    listed = "\n".join(sorted(tool.line() for tool in tools))
    fixed = [{"role": "system", "content": _plain(f"{_CALLING}\n{listed}")}, *_shown(examples)]
    return Prompt(fixed, _conversation(messages, context, _length(fixed)))


def _conversation(messages: Sequence[Message], context: int, taken: int) -> list[Turn]:
    """Return the turns of a conversation, the oldest left out where there is no space beside `taken`."""
    names = {
        content.call_id: content.name
        for message in messages
        for content in message.contents
        if content.type == "function_call"
    }
    turns = [turn for message in messages for turn in _turns(message, names)]
    space = (context - MAX_ANSWER_TOKENS) * CHARACTERS_PER_TOKEN - taken
    while len(turns) > 1 and _length(turns) > space:
        del turns[0]
    return turns


def _shown(examples: Sequence[Example]) -> list[Turn]:
    return [{**turn, "content": _plain(turn["content"])} for example in examples for turn in example.turns()]


_LISTED_SKILLS = re.compile(r"^#+ [^\n]*Skills\n(?:(?!#).*\n?)*", re.MULTILINE)
_FRAME = re.compile(
    r"(?<= begin\]\n)Base directory for this skill: .*\n\n?"
    r"|<resources>\n(?:  <resource>.*\n)*</resources>\n"
    r"|<execution_directive>\n.*\n</execution_directive>\n"
    r"|^Skills hold instructions .*\n",
    re.MULTILINE,
)


def _without_frame(instructions: str) -> str:
    """What is said of skills without what this model has no use for: paths, and how a list is to be read.

    The marks around an author's text stay.
    """
    return _FRAME.sub("", instructions)


def latest_request(messages: Sequence[Message]) -> str:
    """Return what the user said last."""
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def conversation_text(messages: Sequence[Message]) -> str:
    """All that the user said and that tools returned; what a skill says is not a fact of the conversation."""
    parts = [message.text for message in messages if message.role == "user"]
    parts += [
        str(content.result)
        for message in messages
        for content in message.contents
        if content.type == "function_result" and not is_skill_context(str(content.result))
    ]
    return "\n".join(parts)


def earlier_text(messages: Sequence[Message]) -> str:
    """All that was said before the last request."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    return "\n".join(message.text for message in messages[:last])


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
                turns.append({"role": "user", "content": _plain(_cut(brief_text(name, str(content.result))))})
    return turns


def _cut(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    return f"{text[:MAX_RESULT_CHARACTERS]}\n… (cut; {len(text):,} characters in all)"


def _plain(text: str) -> str:
    """Text that cannot pass for the marks between turns."""
    return text.replace("<|", "< |")
