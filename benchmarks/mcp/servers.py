"""The two servers that are compared, each in a process of its own: it prints its address."""

import asyncio
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from skillkit import SkillManager
from skillkit.integrations.mcp import SkillServer
from skillkit.integrations.mcp.http import http_app

TEXT = "x" * 4700
"""As long as what load_skill answers."""


def minimal() -> Any:
    """The same SDK with the same options: one tool that answers a text of the same length."""

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=TEXT)])

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        tool = types.Tool(name="load_skill", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool], ttl_ms=60_000, cache_scope="private")

    server: Server[Any] = Server(
        "minimal",
        get_tool_input_schema=lambda _: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    return server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def skillkit(folder: str) -> Any:
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="")
    manager.discover()
    return http_app(SkillServer(manager))


class AnnouncingServer(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print(f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}/mcp", flush=True)


if __name__ == "__main__":
    app = minimal() if sys.argv[1] == "minimal" else skillkit(sys.argv[2])
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False)
    asyncio.run(AnnouncingServer(config).serve())
