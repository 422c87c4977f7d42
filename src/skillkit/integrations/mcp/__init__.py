"""Skills over the Model Context Protocol: a server for every client, and servers as a source of skills."""

try:
    import mcp as _sdk
except ImportError as error:
    raise ImportError("The MCP integration needs the package mcp: pip install 'skillkit[mcp]'") from error

from skillkit.integrations.mcp.server import SkillServer

__all__ = ["SkillServer"]

del _sdk
