"""External MCP servers in the control panel."""
