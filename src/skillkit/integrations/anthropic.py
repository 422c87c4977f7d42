"""Skills for the Anthropic SDK: system blocks, tool definitions, results, and its tool runner."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from skillkit.core.extras import pip_install

try:
    from anthropic import Anthropic, AsyncAnthropic
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError
except ImportError as error:
    raise ImportError(
        f"The Anthropic integration needs the package anthropic: {pip_install('anthropic')}"
    ) from error

from skillkit.core.authority import Requester
from skillkit.disclosure import Disclosure, SkillSession, Tool, ToolResult
from skillkit.disclosure.tool_gate import Admission
from skillkit.disclosure.tool_result import ShownFile
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Conversation, Fork, ForkedSkill, run_blocking
from skillkit.integrations.default_tools import Skills

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAsyncToolRunner, BetaFunctionToolResultType, BetaToolRunner
    from anthropic.types import Message
    from anthropic.types.beta import (
        BetaImageBlockParam,
        BetaMessage,
        BetaMessageParam,
        BetaRequestDocumentBlockParam,
        BetaTextBlockParam,
        BetaToolParam,
        BetaToolResultBlockParam,
    )

    _ResultBlock = BetaTextBlockParam | BetaImageBlockParam | BetaRequestDocumentBlockParam

__all__ = ["AnthropicSkills", "SkillRequest"]


class SkillRequest(TypedDict):
    """What skills make of a request; the rest of its parameters are the program's."""

    system: "list[BetaTextBlockParam]"
    messages: "list[BetaMessageParam]"
    tools: "list[BetaToolParam]"


TOOLS_WHILE_RUNNING = "inline-tools-2026-09-15"
"""The beta of the API that a runner needs to be given more tools."""


class AnthropicSkills:
    """The skills of one conversation, for `client.messages.create` and `client.beta.messages.tool_runner`.

    A skill with `context: fork` runs in a tool runner of its own beside the one that calls it; `models` says
    what its `model` is called. In a loop of your own `fork` runs it to its end, with
    `AnthropicSkills.of(forked.conversation)`; without that it is followed in this conversation.
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
        models: Mapping[str, str] | None = None,
    ) -> None:
        self.conversation = Conversation(
            skills, session, approve=approve, asks=asks, requester=requester, fork=fork
        )
        self.fork = fork
        self.models = models or {}

    @classmethod
    def of(cls, conversation: Conversation) -> "AnthropicSkills":
        """The skills of a conversation that is there already."""
        made = cls(conversation.provider, conversation.session)
        made.conversation = conversation
        return made

    def request(
        self,
        messages: "Iterable[BetaMessageParam]",
        *,
        prompt: str = "",
        tools: "Iterable[BetaToolParam]" = (),
    ) -> "SkillRequest":
        """`system`, `messages` and `tools` of the request that the conversation makes, ready to be sent.

        `tools` are your own, which stand before ours; those that the gate hides are left out.

        Keep `messages` as your history, not what comes back: the text of a skill stands after the message
        of the user that brought it, and what is near to this request at the end. The prompt cache keeps
        everything before that.
        """
        messages = list(messages)
        disclosure = self.conversation.disclose(messages, whole_history=True)
        return {
            "system": _system(prompt, disclosure.instructions),
            "messages": _extended(messages, disclosure),
            "tools": [
                *(tool for tool in tools if self.conversation.admit(tool["name"]) is not Admission.HIDDEN),
                *(_definition(tool) for tool in disclosure.tools),
            ],
        }

    def tools(self) -> "list[BetaToolParam]":
        """The tools, ready for the field `tools` of a request."""
        return [_definition(tool) for tool in self.conversation.tools()]

    async def results(self, message: "Message | BetaMessage") -> "BetaMessageParam | None":
        """The user message that answers the calls of our tools in `message`, or None when it has none.

        Calls of your own tools are left to you: add their results to the same message. What the gate does
        not admit is answered here, too: calls that have an answer are not for you.
        """
        answers: list[BetaToolResultBlockParam] = []
        for block in message.content:
            if block.type != "tool_use":
                continue
            if self.conversation.tool(block.name) is not None:
                result = await self.conversation.call(block.name, block.input)
            else:
                refused = await self.conversation.refuse(block.name, dict(block.input))
                if refused is None:
                    continue
                result = refused
            answers.append(
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": _content(result),
                    "is_error": result.failed,
                }
            )
        return {"role": "user", "content": answers} if answers else None

    def results_blocking(self, message: "Message | BetaMessage") -> "BetaMessageParam | None":
        """`results` for the client that is not asynchronous."""
        return run_blocking(self.results(message))

    def runner(
        self,
        client: Anthropic,
        *,
        messages: "Iterable[BetaMessageParam]",
        prompt: str = "",
        tools: Iterable[Any] = (),
        **parameters: Any,
    ) -> "BetaToolRunner[Any]":
        """The SDK's tool runner with the skills of this conversation beside `tools`."""
        tools = list(tools)

        def finish(forked: ForkedSkill) -> str:
            return _text(self.of(forked.conversation).runner(client, **beside(forked)).until_done())

        async def run_beside(forked: ForkedSkill) -> str:
            return await asyncio.to_thread(finish, forked)

        beside = partial(self._beside, prompt=prompt, tools=tools, parameters=parameters)
        self.conversation.fork = self.fork or run_beside
        request = self.request(messages, prompt=prompt)  # first: what matches brings tools along
        run = _Run(self.conversation, _BlockingTool, _GatedTool)
        runner: BetaToolRunner[Any] = run.start(client, request, tools, parameters)
        return runner

    def async_runner(
        self,
        client: AsyncAnthropic,
        *,
        messages: "Iterable[BetaMessageParam]",
        prompt: str = "",
        tools: Iterable[Any] = (),
        **parameters: Any,
    ) -> "BetaAsyncToolRunner[Any]":
        """`runner` for the asynchronous client."""
        tools = list(tools)

        async def run_beside(forked: ForkedSkill) -> str:
            within = self.of(forked.conversation)
            return _text(await within.async_runner(client, **beside(forked)).until_done())

        beside = partial(self._beside, prompt=prompt, tools=tools, parameters=parameters)
        self.conversation.fork = self.fork or run_beside
        request = self.request(messages, prompt=prompt)  # first: what matches brings tools along
        run = _Run(self.conversation, _AsyncTool, _GatedAsyncTool)
        runner: BetaAsyncToolRunner[Any] = run.start(client, request, tools, parameters)
        return runner

    def _beside(
        self, forked: ForkedSkill, prompt: str, tools: list[Any], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the runner of a forked skill is given; its result is wanted, not its stream."""
        given = {name: value for name, value in parameters.items() if name != "stream"}
        if (model := self.models.get(forked.choice.model or "")) is not None:
            given["model"] = model
        messages = [{"role": "user", "content": forked.request}]
        own = [] if forked.reads_only else tools
        return {**given, "messages": messages, "prompt": prompt, "tools": own}


class _Run:
    """What the tools of one runner share: the tools it has, and how it gets more."""

    def __init__(self, conversation: Conversation, ours: type["_OfRun"], gated: type["_OfRun"]) -> None:
        self.conversation = conversation
        self._ours = ours
        self._gated = gated
        self._has: set[str] = set()
        self._runner: Any = None

    def start(
        self, client: Any, request: SkillRequest, tools: Iterable[Any], parameters: Mapping[str, Any]
    ) -> Any:
        """The SDK's runner of a request, with the program's own `tools` before ours."""
        self._runner = client.beta.messages.tool_runner(
            messages=request["messages"],
            system=request["system"],
            tools=[
                *(self._gated(self, tool) if self.gates(tool) else tool for tool in self.admitted(tools)),
                *(self._ours(self, tool) for tool in self.new_tools()),
            ],
            **_with_beta(parameters, self.conversation),
        )
        return self._runner

    def new_tools(self) -> list[Tool]:
        """The tools of the conversation that were not there when this was asked before."""
        new = [tool for tool in self.conversation.tools() if tool.name not in self._has]
        self._has.update(tool.name for tool in new)
        return new

    def admitted(self, tools: Iterable[Any]) -> list[Any]:
        """The program's own tools without those that are hidden when the run begins."""
        hidden = Admission.HIDDEN
        return [
            tool for tool in tools if not self.gates(tool) or self.conversation.admit(tool.name) is not hidden
        ]

    def gates(self, tool: object) -> bool:
        """Whether a tool of the program's own is one that the gate holds: a function, not a hosted tool."""
        return self.conversation.provider.gate is not None and callable(getattr(tool, "call", None))

    async def refuse(self, tool: str, input: object) -> None:
        """Raise the answer to a call that the gate does not admit."""
        refused = await self.conversation.refuse(tool, input if isinstance(input, Mapping) else {})
        if refused is not None:
            raise ToolError(refused.text)

    async def call(self, tool: Tool, input: object) -> ToolResult:
        """Call a tool; what it brings into reach is added to the run."""
        before = self.conversation.session.active_ids
        result = await self.conversation.call(tool.name, _object(input))
        if self.conversation.session.active_ids != before and (new := self.new_tools()):
            self._runner.add_tools(*(self._ours(self, tool) for tool in new))
        return result


class _OfRun:
    """A tool that a runner calls: one of ours, or a function of the program's own."""

    def __init__(self, run: _Run, tool: Any) -> None:
        self._run = run
        self._tool = tool

    def to_dict(self) -> Any:
        return _definition(self._tool) if isinstance(self._tool, Tool) else self._tool.to_dict()


class _BlockingTool(_OfRun, BetaBuiltinFunctionTool):
    def call(self, input: object) -> "BetaFunctionToolResultType":
        return _flagged(run_blocking(self._run.call(self._tool, input)))


class _AsyncTool(_OfRun, BetaAsyncBuiltinFunctionTool):
    async def call(self, input: object) -> "BetaFunctionToolResultType":
        return _flagged(await self._run.call(self._tool, input))


class _GatedTool(_OfRun, BetaBuiltinFunctionTool):
    """A function of the program's own, behind the gate."""

    def call(self, input: object) -> Any:
        run_blocking(self._run.refuse(self.name, input))
        return self._tool.call(input)


class _GatedAsyncTool(_OfRun, BetaAsyncBuiltinFunctionTool):
    """`_GatedTool` for the asynchronous client."""

    async def call(self, input: object) -> Any:
        await self._run.refuse(self.name, input)
        return await self._tool.call(input)


def _with_beta(parameters: Mapping[str, Any], conversation: Conversation) -> dict[str, Any]:
    """The parameters of a runner that can be given tools while it runs, where a skill could bring some."""
    if not any(skill.toolsets for skill in conversation.provider.manager.list_skills()):
        return dict(parameters)
    return {**parameters, "betas": [*(parameters.get("betas") or ()), TOOLS_WHILE_RUNNING]}


def _system(prompt: str, instructions: str) -> "list[BetaTextBlockParam]":
    """The program's prompt and the list of skills, which is the end of what every request begins with."""
    blocks: list[BetaTextBlockParam] = [{"type": "text", "text": prompt}] if prompt else []
    if instructions:
        blocks.append({"type": "text", "text": instructions, "cache_control": {"type": "ephemeral"}})
    return blocks


def _extended(messages: "Sequence[BetaMessageParam]", disclosure: Disclosure) -> "list[BetaMessageParam]":
    """`messages` with what stands among them as blocks of the user's, and a cache mark before the note."""
    extended = [_in_blocks(message) for message in messages]
    marked = any("cache_control" in block for message in extended for block in _blocks(message))
    for insertion in disclosure.insertions:
        if not insertion.kept and not marked:
            _mark(extended[: insertion.place])
            marked = True
        block: BetaTextBlockParam = {"type": "text", "text": insertion.text}
        _blocks(extended[insertion.place - 1]).append(block)
    if not marked:
        _mark(extended)
    return extended


def _in_blocks(message: "BetaMessageParam") -> "BetaMessageParam":
    """A message of the user with a list of its blocks, so that it reads the same in every request."""
    if message["role"] != "user":
        return message
    content = message["content"]
    said: BetaTextBlockParam = {"type": "text", "text": content if isinstance(content, str) else ""}
    return {"role": "user", "content": [said] if isinstance(content, str) else list(content)}


def _blocks(message: "BetaMessageParam") -> list[Any]:
    """The blocks of a message of the user."""
    content = message["content"]
    return content if message["role"] == "user" and isinstance(content, list) else []


def _mark(messages: "Sequence[BetaMessageParam]") -> None:
    """Let the prompt cache keep everything up to the newest message of the user."""
    if messages and (blocks := _blocks(messages[-1])):
        blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}


def _text(message: "BetaMessage") -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def _flagged(result: ToolResult) -> "str | list[_ResultBlock]":
    """The content of a result; a failure is raised, which is how the runner sets `is_error`."""
    if result.failed:
        raise ToolError(result.text)
    return _content(result)


def _content(result: ToolResult) -> "str | list[_ResultBlock]":
    """The text of a result, and blocks of the files that the model is to look at."""
    if not result.shown:
        return result.text
    text: BetaTextBlockParam = {"type": "text", "text": result.text}
    return [text, *(_block(file) for file in result.shown)]


def _block(file: ShownFile) -> "_ResultBlock":
    source: Any = {"type": "base64", "media_type": file.media_type, "data": file.base64}
    if file.is_picture:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": file.name}


def _definition(tool: Tool) -> "BetaToolParam":
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _object(value: object) -> Mapping[str, object] | str:
    return value if isinstance(value, Mapping) else str(value)
