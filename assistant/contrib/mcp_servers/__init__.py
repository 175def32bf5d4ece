"""External MCP servers: tenants set them up, and assistants use those of their tools that are let in."""
