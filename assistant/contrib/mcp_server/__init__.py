"""Serves a tenant's tools, prompts and documents over MCP, to callers with an API key that has the scope `tools`."""
