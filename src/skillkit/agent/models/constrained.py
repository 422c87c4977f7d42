"""Tool calls for a model not trained for them: a grammar admits the disclosed tools or an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillkit.agent.models.demonstration import DEMONSTRATION, NOW_THE_REAL_ONE, Turn
from skillkit.core.foreign_json import parse_json
from skillkit.matching.terms import terms


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model reads it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    about: str = ""
    """Words of which one has to be said before it may be called; empty for any."""

    def line(self) -> str:
        """`name(argument: type, …): what it does`, in few tokens."""
        properties: Mapping[str, Mapping[str, Any]] = self.parameters.get("properties", {})
        required = self.parameters.get("required", ())
        arguments = ", ".join(
            f"{name}{'' if name in required else '?'}: {_kind(schema)}" for name, schema in properties.items()
        )
        return f"- {self.name}({arguments}): {_first_sentence(self.description)}"


@dataclass(frozen=True, slots=True)
class Call:
    """The model wants a tool to be run."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The model speaks to the user."""

    text: str


class Repeated:
    """The model wants the same call again that it has made already."""


class Echo:
    """The model only says again what the user has said."""


@dataclass(frozen=True, slots=True)
class Question:
    """The model asks for something."""

    text: str

    def repeats(self, request: str) -> bool:
        """Whether it only says again what the user has asked, in these words or with others around them."""
        asked, said = (" ".join(re.findall(r"\w+", text.casefold())) for text in (request, self.text))
        return (
            said in asked
            or asked in said
            or bool(set(terms(request)) and set(terms(request)) <= set(terms(said)))
        )


@dataclass(frozen=True, slots=True)
class About:
    """The model wants a skill to be described, or all of them."""

    skill: str


ParsedReply = Call | Answer | About | Question
ALL_SKILLS = "all skills"
ANSWER, ASK, CANNOT = "answer", "ask", "cannot"
IN_WORDS = (ANSWER, ASK, CANNOT)


def turns_before(instructions: str, tools: Sequence[ToolSpec]) -> list[Turn]:
    """Everything the model reads before the conversation.

    What never changes comes first, so that its processed state serves every program and every request.
    """
    listed = "\n".join(tool.line() for tool in tools) or "none for this request"
    real = f"{NOW_THE_REAL_ONE}\n\n{instructions}\n\n## Your tools\n{listed}"
    return [*DEMONSTRATION, {"role": "system", "content": real}]


def more_tools(tools: Sequence[ToolSpec], request: str = "") -> str:
    """What is added to a turn when tools have come into reach; `request` is what they are wanted for."""
    listed = "\n".join(tool.line() for tool in tools)
    wanted = f"\n\nUse the one that does what was asked: {request}" if request else ""
    return f"\n\nYou now have these tools too:\n{listed}{wanted}"


def reply_schema(
    tools: Sequence[ToolSpec], about: Sequence[str] = (), forms: Sequence[str] = IN_WORDS
) -> dict[str, Any]:
    """Return a JSON schema with an alternative for each tool and for each form of a reply in words.

    `about` is what can be described, ALL_SKILLS or names.
    """
    alternatives = [
        _object(tool={"const": tool.name}, arguments=_arguments(tool.parameters)) for tool in tools
    ]
    text = {"type": "string", "minLength": 1}
    alternatives += [_object(**{form: text}) for form in forms]
    alternatives += [_object(about={"enum": list(about)})] if about else []
    return {"anyOf": alternatives}


def parse(text: str) -> ParsedReply:
    """The reply; one that was cut off is still an answer as far as it goes."""
    try:
        reply = parse_json(text)
    except ValueError:
        return Answer(AnswerStream().feed(text.replace(f'"{ASK}"', f'"{ANSWER}"', 1)) or text)
    match reply:
        case {"tool": str(name), "arguments": dict(arguments)}:
            return Call(name, arguments)
        case {"about": str(skill)}:
            return About(skill)
        case {"ask": str(said)}:
            return Question(said)
        case {"answer": str(said)} | {"cannot": str(said)}:
            return Answer(said)
        case _:
            return Answer(text)


_OPENING = re.compile(r'\s*\{\s*"(?:answer|cannot)"\s*:\s*"')
_REPLY = re.compile(rf'\{{\s*"(?:tool|about|{ASK}|{ANSWER}|{CANNOT})"\s*:')
_TOLD = 16
"""After so many characters it is clear whether a text is a reply in JSON."""
_WHOLE = re.compile(
    r'(?:[^"\\]|\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|u[0-9a-fA-F]{4}))*'
)


class AnswerStream:
    """The text of an answer while its JSON is still being written; without JSON it is all answer.

    A model that need not write JSON does so all the same where it wants to call a tool as it did before.
    """

    def __init__(self, *, in_json: bool | None = True) -> None:
        self._raw = ""
        self._shown = 0
        self._in_json = in_json
        """None until it is clear."""
        self.started = False
        """Whether this is an answer at all."""

    def feed(self, piece: str) -> str:
        """What `piece` adds to the answer; nothing for a tool call."""
        if self._in_json is False:
            return piece
        self._raw += piece
        if self._in_json is None:
            text = self._raw.lstrip()
            if not text or (text.startswith("{") and len(text) < _TOLD):
                return ""
            self._in_json = _REPLY.match(text) is not None
            self.started = not self._in_json
            if self.started:
                return self._raw
        opening = _OPENING.match(self._raw)
        if opening is None:
            return ""
        self.started = True
        whole = _WHOLE.match(self._raw, opening.end())
        text = parse_json(f'"{whole.group()}"', strict=False) if whole else ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text = text[:-1]
        fresh = text[self._shown :]
        self._shown = len(text)
        return str(fresh)


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_KEPT = (
    "type",
    "enum",
    "const",
    "items",
    "properties",
    "required",
    "minimum",
    "maximum",
    "minItems",
    "anyOf",
)


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in the part of JSON schema that grammars are made from."""
    properties = {name: _plain(part) for name, part in schema.get("properties", {}).items()}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name in schema.get("required", ())],
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key in _KEPT:
        if key not in schema:
            continue
        value = schema[key]
        if key == "items":
            value = _plain(value)
        elif key == "properties":
            value = {name: _plain(part) for name, part in value.items()}
        elif key == "anyOf":
            value = [_plain(part) for part in value]
        kept[key] = value
    return kept


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        values = [str(value) for value in schema["enum"]]
        return "|".join(values[:12]) + ("|…" if len(values) > 12 else "")
    if "anyOf" in schema:
        return "|".join(_kind(part) for part in schema["anyOf"] if part.get("type") != "null")
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        kind = "|".join(part for part in kind if part != "null")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(kind)


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = re.search(r"[.;](?:\s|$)", line)
    return line[: end.start() + 1] if end else line
