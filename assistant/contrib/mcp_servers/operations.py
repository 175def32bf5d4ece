"""Functions for operators' scripts and host projects, as those of `assistant.operations`: on external MCP servers."""

from assistant.contrib.mcp_servers.services.health_checks import Examination, examine
from assistant.contrib.mcp_servers.services.tool_listings import decide_tool

__all__ = ["Examination", "decide_tool", "examine"]
