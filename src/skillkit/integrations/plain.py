"""Skills for any client: tools as JSON-schema dictionaries, calls by name."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypedDict

from skillkit.core.authority import Requester
from skillkit.core.text import one_line
from skillkit.disclosure import Insertion, SkillSession, ToolResult, notes, with_insertions
from skillkit.disclosure.fence import defanged
from skillkit.disclosure.messages import Messages
from skillkit.disclosure.tool_result import ShownFile
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Arguments, Conversation, Fork
from skillkit.integrations.default_tools import Skills


class SDKObject(Protocol):
    """A message or a tool call as an object of an SDK, such as OpenAI's: anything with `model_dump`."""

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]: ...


Given = Mapping[str, object] | SDKObject


class ChatRequest(TypedDict):
    """The request parameters set by skills; the program sets the rest."""

    messages: list[Any]
    tools: list[Any]


class SkillTools:
    """The tools of one conversation in the form of OpenAI's chat completions, which most servers speak.

    `SkillManager.tools()` and `SkillManager.call()` are those of a `SkillTools` that the manager keeps.
    `fork` runs a skill with `context: fork` to its end, with `SkillTools.of(forked.conversation)`; without it
    such a skill is followed in this conversation.
    """

    def __init__(
        self,
        skills: Skills,
        session: SkillSession | None = None,
        *,
        approve: Approve | None = None,
        asks: Asks | None = None,
        requester: Requester | None = None,
        fork: Fork | None = None,
    ) -> None:
        self.conversation = Conversation(
            skills, session, approve=approve, asks=asks, requester=requester, fork=fork
        )

    @classmethod
    def of(cls, conversation: Conversation) -> "SkillTools":
        """Return the tools of an existing conversation."""
        made = cls(conversation.provider, conversation.session)
        made.conversation = conversation
        return made

    def request(self, messages: Sequence[Given], tools: Sequence[Mapping[str, object]] = ()) -> ChatRequest:
        """Return `messages` and `tools` of the next request of the conversation.

        Messages are dictionaries or the SDK's own objects. `tools` are your own, which come before ours;
        those that the gate hides are left out.

        Keep `messages` as your history, not the result: the list of skills is in its system message, the
        text of a skill after the message of the user that loaded it, and the skills near to this request
        at the end.
        """
        history = [_as_mapping(message) for message in messages]
        disclosure = self.conversation.disclose(history, whole_history=True)
        extended = with_insertions(history, disclosure.insertions, _as_message)
        own = self.conversation.gated(tools, _name)
        return {"messages": _with_system(extended, disclosure.instructions), "tools": [*own, *self.tools()]}

    def instructions(self, messages: Messages = ()) -> str:
        """Return instructions and insertions as one text, for a program that can set only a system prompt.

        The text changes with each request, so that no prompt cache keeps it: prefer `request`. A list of
        messages is the whole history, a string the latest message of the user.
        """
        whole = not isinstance(messages, str) and bool(messages)
        return self.conversation.disclose(messages, whole_history=whole).everything

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools, ready for the field `tools` of a request."""
        return [{"type": "function", "function": tool.definition} for tool in self.conversation.tools()]

    async def call(self, name: str, arguments: Arguments = None) -> str:
        """Call a tool and return the content of a message with the role `tool`."""
        return (await self.result(name, arguments)).text

    def call_blocking(self, name: str, arguments: Arguments = None) -> str:
        """`call` for programs and frameworks that are not asynchronous."""
        return self.conversation.call_blocking(name, arguments).text

    async def result(self, name: str, arguments: Arguments = None) -> ToolResult:
        """Call a tool and return its result, which says whether it failed."""
        return await self.conversation.call(name, arguments)

    async def refuse(self, name: str, arguments: Arguments = None) -> ToolResult | None:
        """Return the result instead of a call of one of your own tools; None if it may be called."""
        given = arguments if isinstance(arguments, Mapping) else {"arguments": arguments or ""}
        return await self.conversation.refuse(name, given)

    async def answer(self, tool_call: Given) -> dict[str, Any]:
        """Call the tool of one entry of `tool_calls` and return the message that answers it."""
        name, arguments, call_id = _parts_of_call(tool_call)
        return _tool_message(call_id, await self.call(name, arguments))

    def answer_blocking(self, tool_call: Given) -> dict[str, Any]:
        """`answer` for programs that are not asynchronous."""
        name, arguments, call_id = _parts_of_call(tool_call)
        return _tool_message(call_id, self.call_blocking(name, arguments))

    def show(self, results: Sequence[ToolResult]) -> dict[str, object] | None:
        """Return the message with files that scripts made, to send after those of the tools.

        None when there are none of the kinds in the provider's `shown_files`. Messages of tools can only be
        text.
        """
        parts = [part for result in results for file in result.shown for part in _parts(file)]
        return {"role": "user", "content": parts} if parts else None


def _as_mapping(given: Given) -> Mapping[str, object]:
    return given if isinstance(given, Mapping) else given.model_dump(exclude_none=True)


def _parts_of_call(tool_call: Given) -> tuple[str, Arguments, object]:
    """Return name, arguments and id of an entry of `tool_calls`."""
    call = _as_mapping(tool_call)
    function = call.get("function")
    if not isinstance(function, Mapping):
        raise TypeError("Not a tool call: pass an entry of `tool_calls`, which has a `function`")
    arguments = function.get("arguments")
    return (
        str(function.get("name")),
        arguments if isinstance(arguments, Mapping | str) else None,
        call.get("id"),
    )


def _tool_message(call_id: object, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _parts(file: ShownFile) -> list[dict[str, object]]:
    name = defanged(one_line(file.name))
    note: dict[str, object] = {"type": "text", "text": notes.wrapped(f"{name}, made by a script:")}
    if file.is_picture:
        return [note, {"type": "image_url", "image_url": {"url": file.data_url}}]
    return [note, {"type": "file", "file": {"filename": file.name, "file_data": file.data_url}}]


def _name(tool: Mapping[str, object]) -> str:
    function = tool.get("function")
    return str(function.get("name") if isinstance(function, Mapping) else tool.get("name"))


def _as_message(insertion: Insertion) -> Mapping[str, object]:
    return {"role": "user", "content": insertion.text}


def _with_system(messages: Sequence[Mapping[str, object]], text: str) -> list[Mapping[str, object]]:
    """Append `text` to the system message, the program's own or a new one."""
    if not text:
        return list(messages)
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": text}, *messages]
    own = first.get("content")
    content = [*own, {"type": "text", "text": text}] if isinstance(own, list) else f"{own}\n\n{text}"
    return [{**first, "content": content}, *messages[1:]]
