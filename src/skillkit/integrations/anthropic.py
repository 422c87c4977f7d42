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
from skillkit.disclosure.tool_result import ShownFile
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Conversation, Fork, ForkedSkill, run_blocking
from skillkit.integrations.default_tools import Skills

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAsyncToolRunner, BetaToolRunner
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
    """The request parameters set by skills; the program sets the rest."""

    system: "list[BetaTextBlockParam]"
    messages: "list[BetaMessageParam]"
    tools: "list[BetaToolParam]"


TOOLS_WHILE_RUNNING = "inline-tools-2026-09-15"
"""The beta of the API that a runner needs to be given more tools."""


class AnthropicSkills:
    """The skills of one conversation, for `client.messages.create` and `client.beta.messages.tool_runner`.

    A skill with `context: fork` runs in a separate tool runner; `models` says
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
        """Return the skills of an existing conversation."""
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
        """Return `system`, `messages` and `tools` of the next request of the conversation.

        `tools` are your own, which come before ours; those that the gate hides are omitted.

        Keep `messages` as your history, not the result: the text of a skill is placed after the message
        of the user that loaded it, and the skills near to this request at the end. The prompt cache keeps
        everything before that.
        """
        messages = list(messages)
        disclosure = self.conversation.disclose(messages, whole_history=True)
        return {
            "system": _system(prompt, disclosure.instructions),
            "messages": _extended(messages, disclosure),
            "tools": [
                *self.conversation.gated(tools, lambda tool: tool["name"]),
                *(_definition(tool) for tool in disclosure.tools),
            ],
        }

    def tools(self) -> "list[BetaToolParam]":
        """Return the tools, ready for the field `tools` of a request."""
        return [_definition(tool) for tool in self.conversation.tools()]

    async def results(self, message: "Message | BetaMessage") -> "BetaMessageParam | None":
        """Return the user message with the results of our tools called in `message`; None if it calls none.

        Call your own tools yourself and add their results to the same message, except for calls that have a
        result already: the gate refused them.
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
        """Return the SDK's tool runner with the skills of this conversation beside `tools`."""

        def finish(forked: ForkedSkill) -> str:
            return _text(self.of(forked.conversation).runner(client, **beside(forked)).until_done())

        async def run_beside(forked: ForkedSkill) -> str:
            return await asyncio.to_thread(finish, forked)

        tools = list(tools)
        beside = partial(self._beside, prompt=prompt, tools=tools, parameters=parameters)
        self.conversation.fork = self.fork or run_beside
        request = self.request(messages, prompt=prompt)  # first: matched skills add tools
        runner: BetaToolRunner[Any] = _Run(self.conversation, _BlockingTool).start(
            client, request, tools, parameters
        )
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

        async def run_beside(forked: ForkedSkill) -> str:
            within = self.of(forked.conversation)
            return _text(await within.async_runner(client, **beside(forked)).until_done())

        tools = list(tools)
        beside = partial(self._beside, prompt=prompt, tools=tools, parameters=parameters)
        self.conversation.fork = self.fork or run_beside
        request = self.request(messages, prompt=prompt)
        runner: BetaAsyncToolRunner[Any] = _Run(self.conversation, _AsyncTool).start(
            client, request, tools, parameters
        )
        return runner

    def _beside(
        self, forked: ForkedSkill, prompt: str, tools: list[Any], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the parameters for the runner of a forked skill, without streaming."""
        given = {name: value for name, value in parameters.items() if name != "stream"}
        if (model := self.models.get(forked.choice.model or "")) is not None:
            given["model"] = model
        messages = [{"role": "user", "content": forked.request}]
        own = [] if forked.reads_only else tools
        return {**given, "messages": messages, "prompt": prompt, "tools": own}


class _Run:
    """Shared state of one runner's tools, to which more can be added."""

    def __init__(self, conversation: Conversation, wrap: type["_RunTool"]) -> None:
        self.conversation = conversation
        self._wrap = wrap
        self._has: set[str] = set()
        self._runner: Any = None

    def start(
        self, client: Any, request: SkillRequest, tools: Iterable[Any], parameters: Mapping[str, Any]
    ) -> Any:
        """Return the SDK's runner of a request, with the program's own `tools` before ours."""
        self._runner = client.beta.messages.tool_runner(
            messages=request["messages"],
            system=request["system"],
            tools=[*self._admitted(list(tools)), *(self._wrap(self, tool) for tool in self._new_tools())],
            **_with_beta(parameters, self.conversation),
        )
        return self._runner

    def _admitted(self, tools: list[Any]) -> list[Any]:
        """Return the program's own tools, with the gate before functions; hosted tools are not gated."""
        if self.conversation.provider.gate is None:
            return tools
        functions = [tool for tool in tools if callable(getattr(tool, "call", None))]
        free = self.conversation.gated(functions)
        return [
            self._wrap(self, tool) if tool in free else tool
            for tool in tools
            if tool in free or tool not in functions
        ]

    def _new_tools(self) -> list[Tool]:
        """Return the tools of the conversation that are new since the last call."""
        new = [tool for tool in self.conversation.tools() if tool.name not in self._has]
        self._has.update(tool.name for tool in new)
        return new

    async def answer(self, tool: Any, input: object) -> "str | list[_ResultBlock] | None":
        """Return the content of a tool's result, adding the tools that the call made available; None for a
        tool of the program's own that may be called. A failure is raised, from which the runner sets
        `is_error`."""
        arguments = input if isinstance(input, Mapping) else None
        if isinstance(tool, Tool):
            before = self.conversation.session.active_ids
            called = str(input) if arguments is None else arguments
            result: ToolResult | None = await self.conversation.call(tool.name, called)
            if self.conversation.session.active_ids != before and (new := self._new_tools()):
                self._runner.add_tools(*(self._wrap(self, each) for each in new))
        else:
            result = await self.conversation.refuse(tool.name, arguments or {})
        if result is not None and result.failed:
            raise ToolError(result.text)
        return None if result is None else _content(result)


class _RunTool:
    """A tool that a runner calls: one of ours, or a function of the program's own behind the gate."""

    def __init__(self, run: _Run, tool: Any) -> None:
        self._run = run
        self._tool = tool

    def to_dict(self) -> Any:
        return _definition(self._tool) if isinstance(self._tool, Tool) else self._tool.to_dict()


class _BlockingTool(_RunTool, BetaBuiltinFunctionTool):
    def call(self, input: object) -> Any:
        answer = run_blocking(self._run.answer(self._tool, input))
        return self._tool.call(input) if answer is None else answer


class _AsyncTool(_RunTool, BetaAsyncBuiltinFunctionTool):
    async def call(self, input: object) -> Any:
        answer = await self._run.answer(self._tool, input)
        return await self._tool.call(input) if answer is None else answer


def _with_beta(parameters: Mapping[str, Any], conversation: Conversation) -> dict[str, Any]:
    """Return the parameters of a runner that accepts new tools while it runs, if a skill can add any."""
    if not any(skill.toolsets for skill in conversation.provider.manager.list_skills()):
        return dict(parameters)
    return {**parameters, "betas": [*(parameters.get("betas") or ()), TOOLS_WHILE_RUNNING]}


def _system(prompt: str, instructions: str) -> "list[BetaTextBlockParam]":
    """Return the program's prompt followed by the list of skills, the fixed start of every request."""
    blocks: list[BetaTextBlockParam] = [{"type": "text", "text": prompt}] if prompt else []
    if instructions:
        blocks.append({"type": "text", "text": instructions, "cache_control": {"type": "ephemeral"}})
    return blocks


def _extended(messages: "Sequence[BetaMessageParam]", disclosure: Disclosure) -> "list[BetaMessageParam]":
    """Return `messages` with insertions as user blocks, and a cache mark before the note."""
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
    """Return a user message with a list of blocks, so that it is the same in every request."""
    if message["role"] != "user":
        return message
    content = message["content"]
    said: BetaTextBlockParam = {"type": "text", "text": content if isinstance(content, str) else ""}
    return {"role": "user", "content": [said] if isinstance(content, str) else list(content)}


def _blocks(message: "BetaMessageParam") -> list[Any]:
    """Return the blocks of a user message."""
    content = message["content"]
    return content if message["role"] == "user" and isinstance(content, list) else []


def _mark(messages: "Sequence[BetaMessageParam]") -> None:
    """Let the prompt cache keep everything up to the newest message of the user."""
    if messages and (blocks := _blocks(messages[-1])):
        blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}


def _text(message: "BetaMessage") -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def _content(result: ToolResult) -> "str | list[_ResultBlock]":
    """Return the text of a result and blocks of the files to show to the model."""
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
