"""The MCP server. `assistant.mcp_client` connects to other servers."""
