"""The MCP server. The client of external servers is `assistant.mcp_client`."""
