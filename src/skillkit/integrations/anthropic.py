"""Skills for the Anthropic SDK: system blocks, tool definitions, results, and its tool runner."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

try:
    from anthropic import Anthropic, AsyncAnthropic
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError
except ImportError as error:
    raise ImportError(
        "The Anthropic integration needs the package anthropic: pip install 'skillkit[anthropic]'"
    ) from error

from skillkit.disclosure import SkillSession, Tool, ToolResult
from skillkit.disclosure.messages import Messages
from skillkit.disclosure.tool_sources import Approve
from skillkit.integrations.conversation import Asks, Conversation, Skills, run_blocking

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAsyncToolRunner, BetaToolRunner
    from anthropic.types import Message
    from anthropic.types.beta import (
        BetaMessage,
        BetaMessageParam,
        BetaTextBlockParam,
        BetaToolParam,
        BetaToolResultBlockParam,
    )

__all__ = ["AnthropicSkills"]


class AnthropicSkills:
    """The skills of one conversation, for `client.messages.create` and `client.beta.messages.tool_runner`."""

    def __init__(
        self,
        skills: Skills,
        session: SkillSession | None = None,
        *,
        approve: Approve | None = None,
        asks: Asks | None = None,
    ) -> None:
        self.conversation = Conversation(skills, session, approve=approve, asks=asks)

    def system(self, messages: Messages = (), *, prompt: str = "") -> "list[BetaTextBlockParam]":
        """The system blocks of a request: `prompt`, the catalogue, then what changes between requests.

        The catalogue is the end of the prefix that the prompt cache keeps.
        """
        whole = not isinstance(messages, str) and bool(messages)
        disclosure = self.conversation.disclose(messages, whole_history=whole)
        blocks: list[BetaTextBlockParam] = []
        if prompt:
            blocks.append({"type": "text", "text": prompt})
        if disclosure.catalogue:
            blocks.append(
                {"type": "text", "text": disclosure.catalogue, "cache_control": {"type": "ephemeral"}}
            )
        if disclosure.skills:
            blocks.append({"type": "text", "text": disclosure.skills})
        return blocks

    def tools(self) -> "list[BetaToolParam]":
        """The tools, ready for the field `tools` of a request."""
        return [_definition(tool) for tool in self.conversation.tools()]

    async def results(self, message: "Message | BetaMessage") -> "BetaMessageParam | None":
        """The user message that answers the calls of our tools in `message`, or None when it has none.

        Calls of your own tools are left to you: add their results to the same message.
        """
        answers: list[BetaToolResultBlockParam] = []
        for block in message.content:
            if block.type == "tool_use" and self.conversation.tool(block.name) is not None:
                result = await self.conversation.call(block.name, block.input)
                answers.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": block.id,
                        "content": result.text,
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
        messages = list(messages)
        system = self.system(messages, prompt=prompt)  # first: what matches brings tools along
        own = [_BlockingTool(self.conversation, tool) for tool in self.conversation.tools()]
        runner: BetaToolRunner[Any] = client.beta.messages.tool_runner(
            messages=messages, system=system, tools=[*tools, *own], **parameters
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
        messages = list(messages)
        system = self.system(messages, prompt=prompt)  # first: what matches brings tools along
        own = [_AsyncTool(self.conversation, tool) for tool in self.conversation.tools()]
        runner: BetaAsyncToolRunner[Any] = client.beta.messages.tool_runner(
            messages=messages, system=system, tools=[*tools, *own], **parameters
        )
        return runner


class _BlockingTool(BetaBuiltinFunctionTool):
    def __init__(self, conversation: Conversation, tool: Tool) -> None:
        self._conversation = conversation
        self._tool = tool

    def to_dict(self) -> "BetaToolParam":
        return _definition(self._tool)

    def call(self, input: object) -> str:
        return _flagged(self._conversation.call_blocking(self._tool.name, _object(input)))


class _AsyncTool(BetaAsyncBuiltinFunctionTool):
    def __init__(self, conversation: Conversation, tool: Tool) -> None:
        self._conversation = conversation
        self._tool = tool

    def to_dict(self) -> "BetaToolParam":
        return _definition(self._tool)

    async def call(self, input: object) -> str:
        return _flagged(await self._conversation.call(self._tool.name, _object(input)))


def _flagged(result: ToolResult) -> str:
    """The text of a result; a failure is raised, which is how the runner sets `is_error`."""
    if result.failed:
        raise ToolError(result.text)
    return result.text


def _definition(tool: Tool) -> "BetaToolParam":
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _object(value: object) -> Mapping[str, object] | str:
    return value if isinstance(value, Mapping) else str(value)
