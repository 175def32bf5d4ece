"""External MCP servers as tenants set them up: their tools, credentials, health."""
