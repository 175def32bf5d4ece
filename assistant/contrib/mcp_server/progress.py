"""Reports the progress of tools: as progress notifications if the client wants them, else as log messages."""

from __future__ import annotations

import warnings

from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import LoggingLevel
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from assistant.contrib.mcp_server.caller import Context
from assistant.contrib.mcp_server.sessions import settings_of

# Clients of protocols before 2026-07-28 still read log messages.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning, module=r"assistant\.mcp\.")

LEVELS: tuple[LoggingLevel, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class ProgressReporter:
    """Sends a tool's progress reports, in order, on the stream of the request that called it."""

    def __init__(self, context: Context, tool: str) -> None:
        self._context = context
        self._tool = tool

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        session = self._context.session
        if self._context.meta and self._context.meta.get("progress_token") is not None:
            await session.report_progress(done, total, message or None)
        elif message and self._wants_log():
            await session.send_log_message("info", message, self._tool, self._context.request_id)

    def _wants_log(self) -> bool:
        """Since 2026-07-28 the SDK filters by the level in the request. Older clients set a level for their session."""
        if self._context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return True
        settings = settings_of(self._context)
        return settings is not None and LEVELS.index(settings.level) <= LEVELS.index("info")
