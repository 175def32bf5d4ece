"""Functions for operators' scripts and host projects, as those of `assistant.operations`: on external MCP servers."""

from assistant.contrib.mcp_servers.services.health_checks import Examination, examine
from assistant.contrib.mcp_servers.services.tool_listings import decide_tool
from assistant.toolkit.unknown_options import list_options_of

__all__ = ["Examination", "decide_tool", "examine"]

list_options_of(__name__)
