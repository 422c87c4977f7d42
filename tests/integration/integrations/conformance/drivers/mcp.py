"""A client of the MCP server: the model's calls go over the protocol, the rest is up to the client."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import mcp_types as types
from mcp import Client

from conformance.script import Call, Driver, Reply, Seen, Turn, say
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.default_tools import ScriptSource
from skillkit.integrations.mcp import SkillServer

NO_MEMORY = (
    "a connection is not a conversation: the protocol has no sessions (modelcontextprotocol #2567), "
    "the client remembers"
)
UNSEEN = "the server does not see the user's message (modelcontextprotocol #1975)"
OWN_TOOLS = "the server does not see the client's other tools (modelcontextprotocol #594)"
ASKS = (
    "the client asks the user, the protocol has no word for it (modelcontextprotocol #176); the server "
    "offers scripts only when it was started so"
)


class MCPDriver(Driver):
    title = "MCP"
    mode: ClassVar[Any] = "auto"
    unable: ClassVar[Mapping[str, str]] = {
        "deduplication": NO_MEMORY,
        "follow_up": NO_MEMORY,
        "restored": NO_MEMORY,
        "toolsets": NO_MEMORY,
        "toolset_of_match": NO_MEMORY,
        "toolset_of_load": NO_MEMORY,
        "trimmed": NO_MEMORY,
        "matching": f"{UNSEEN}; the model loads or searches",
        "stable_prefix": f"{UNSEEN}; the client makes the requests",
        "forked": "a server cannot run agents, and asking the client's model is on its way out "
        "(modelcontextprotocol #2577): the skill is followed in place, and that is said",
        "files_in_play": f"{UNSEEN}; the prompt of a skill starts it anyway",
        "gate_asks": OWN_TOOLS,
        "gate_hides": OWN_TOOLS,
        "told_policy": "a client is a tenant, and there is no conversation to tell of "
        "(modelcontextprotocol #2567)",
        "pinned": NO_MEMORY,
        "script_approved": ASKS,
        "script_refused": ASKS,
        "script_help": ASKS,
    }

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        source = next(source for source in provider.tool_sources if isinstance(source, ScriptSource))
        self.server = SkillServer(provider.manager, scripts=source.scripts)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        results: list[str] = []
        failed: list[bool] = []
        parts: list[str] = []
        async with Client(self.server.server, mode=self.mode) as client:
            if user.startswith("/"):  # as clients do with the prompts of servers
                started = await client.get_prompt(user[1:])
                parts = [message.content.model_dump_json() for message in started.messages]
            while True:
                listed = await client.list_tools()
                tools = {tool.name: tool.input_schema for tool in listed.tools}
                reply = self.model.answer(
                    Seen(client.session.instructions or "", tools, results, parts, failed)
                )
                if isinstance(reply, str):
                    turn.text = reply
                    return turn
                answers: list[Any] = await asyncio.gather(*(self._answer(client, call) for call in reply))
                links = [
                    each for answer in answers for each in answer.content if each.type == "resource_link"
                ]
                turn.files += [link.name for link in links]
                parts = [each.model_dump_json() for answer in answers for each in answer.content]
                results = [answer.content[0].text for answer in answers]
                failed = [answer.is_error is True for answer in answers]

    async def _answer(self, client: Client, call: Call) -> Any:
        if self.own_tool and call.name == "say":
            return types.CallToolResult(content=[types.TextContent(type="text", text=say(**call.arguments))])
        return await client.call_tool(call.name, dict(call.arguments))

    def begin_conversation(self) -> None:
        """The client has nothing to forget."""


class LegacyMCPDriver(MCPDriver):
    variant = "2025 protocol"
    mode = "legacy"


DRIVERS = (MCPDriver, LegacyMCPDriver)
