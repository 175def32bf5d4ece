"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Sessions for MCP clients older than 2026-07-28, which approvals need. For one process, or with sticky routing.
ASSISTANT_MCP_SESSIONS = ENVIRONMENT.flag("ASSISTANT_MCP_SESSIONS")

__all__ = ["ASSISTANT_MCP_SESSIONS"]
