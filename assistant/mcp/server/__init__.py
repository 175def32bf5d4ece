"""The tenant's tools, prompts and documents as an MCP server, for whoever has a key with the scope `tools`."""
