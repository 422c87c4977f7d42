"""Skills for any MCP client, on standard input and output: python examples/mcp_server.py"""

import asyncio

from skillkit.integrations.mcp import SkillServer

if __name__ == "__main__":
    asyncio.run(SkillServer("examples/skills").run_stdio())
