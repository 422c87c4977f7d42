"""Skills over the Model Context Protocol: a server for every client, and servers as a source of skills."""

from skillkit.core.extras import pip_install

try:
    import mcp as _sdk
except ImportError as error:
    raise ImportError(f"The MCP integration needs the package mcp: {pip_install('mcp')}") from error

from skillkit.integrations.mcp.server import SkillServer

__all__ = ["SkillServer"]

del _sdk
