"""What the MCP server costs beside a server of the same SDK that does nothing."""
