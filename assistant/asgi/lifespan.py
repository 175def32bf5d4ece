"""Handles ASGI's lifespan: starts background tasks with the server, and lets runs finish when it stops."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from assistant.services.connections import shutdown
from assistant.services.connections.server_frame_bound import check_server
from assistant.services.runs.manager import get_runs


async def lifespan(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Serve one lifespan. Under servers without one (daphne), the first run or websocket starts the tasks."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            check_server(receive)
            if "uvicorn" in sys.modules:
                from assistant.asgi.request_heads import check_heads

                check_heads(receive)
            shutdown.handle_signals()
            await get_runs().start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await get_runs().stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
