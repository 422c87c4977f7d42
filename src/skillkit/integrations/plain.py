"""Skills for any client at all: tools as JSON-schema dictionaries, calls by name."""

from collections.abc import Mapping

from skillkit.disclosure import SkillSession, ToolResult
from skillkit.disclosure.messages import Messages
from skillkit.disclosure.tool_sources import Approve
from skillkit.integrations.conversation import Arguments, Asks, Conversation, Skills


class SkillTools:
    """The tools of one conversation in the form of OpenAI's chat completions, which most servers speak.

    `SkillManager.tools()` and `SkillManager.call()` are those of a `SkillTools` that the manager keeps.
    """

    def __init__(
        self,
        skills: Skills,
        session: SkillSession | None = None,
        *,
        approve: Approve | None = None,
        asks: Asks | None = None,
    ) -> None:
        self.conversation = Conversation(skills, session, approve=approve, asks=asks)

    def instructions(self, messages: Messages = ()) -> str:
        """What to append to the system prompt of the request that `messages` make.

        A list is taken for all that the model will see: text of a skill that was loaded and is no longer
        among it is put back. A string is only what the user said last.
        """
        whole = not isinstance(messages, str) and bool(messages)
        return self.conversation.disclose(messages, whole_history=whole).instructions

    def tools(self) -> list[dict[str, object]]:
        """The tools, ready for the field `tools` of a request."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in self.conversation.tools()
        ]

    async def call(self, name: str, arguments: Arguments = None) -> str:
        """What the tool answers, as the content of a message with the role `tool`."""
        return (await self.result(name, arguments)).text

    async def result(self, name: str, arguments: Arguments = None) -> ToolResult:
        """What the tool answers, with whether it failed."""
        return await self.conversation.call(name, arguments)

    async def answer(self, tool_call: Mapping[str, object]) -> dict[str, object]:
        """The message that answers one entry of `tool_calls` of a model's reply."""
        function = tool_call.get("function")
        if not isinstance(function, Mapping):
            raise TypeError("This is no tool call: pass an entry of `tool_calls`, which has a `function`")
        arguments = function.get("arguments")
        given = arguments if isinstance(arguments, Mapping | str) else None
        text = await self.call(str(function.get("name")), given)
        return {"role": "tool", "tool_call_id": tool_call.get("id"), "content": text}
