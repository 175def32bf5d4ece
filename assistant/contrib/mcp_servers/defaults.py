"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# MCP servers on standard input and output, which tenants can choose by name.
ASSISTANT_MCP_STDIO_COMMANDS = ENVIRONMENT.commands("ASSISTANT_MCP_STDIO_COMMANDS")

__all__ = ["ASSISTANT_MCP_STDIO_COMMANDS"]
