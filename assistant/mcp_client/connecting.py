"""Opens sessions with external MCP servers; the MCP SDK is imported on first use."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from assistant.mcp_client.definitions import OnTools
from assistant.mcp_client.endpoint import Endpoint
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.handlers import NO_HANDLERS, Handlers
from assistant.toolkit.lazy_module import LazyModule

if TYPE_CHECKING:
    from mcp.client.session import ElicitationFnT

    from assistant.mcp_client.session import RemoteSession

logger = logging.getLogger(__name__)

# The module that imports the SDK.
sessions = LazyModule("assistant.mcp_client.session")


@asynccontextmanager
async def connect(
    endpoint: Endpoint,
    *,
    on_tools: OnTools | None = None,
    elicitation: ElicitationFnT | None = None,
    asks_people: bool = False,
    handlers: Handlers = NO_HANDLERS,
) -> AsyncGenerator[RemoteSession]:
    """Open a session and list the tools, within `session.OPEN_SECONDS`.

    Args:
        on_tools: called with every listing.
        elicitation: answers the server's elicitation requests; without it the client declares no support for them.
        asks_people: in place of it: the server's questions belong to the call that they come in, and are answered by
            its `questions` (`RemoteSession.call`).
        handlers: handle what the server logs and asks by itself.

    Raises:
        RemoteFailure: the session cannot be opened, or failed while it was used.
    """
    try:
        session_module = await sessions.get()
    except ModuleNotFoundError as exc:
        logger.error("A session with an MCP server needs a package: pip install 'tenant-assistant[mcp]'")
        raise RemoteFailure("unreachable") from exc
    opening = session_module.open_session(
        endpoint, on_tools=on_tools, elicitation=elicitation, asks_people=asks_people, handlers=handlers
    )
    async with opening as session:
        yield session
