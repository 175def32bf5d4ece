"""Warns if the server buffers larger websocket frames than the application accepts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from assistant.core.values.frame_sizes import MAX_SERVER_FRAME

logger = logging.getLogger(__name__)

WARNING = (
    "This server buffers websocket frames of %s, although frames of more than %d bytes are refused. "
    "Start uvicorn with --ws-max-size %d (docs/production.md)."
)


def check_server(receive: Callable[[], Awaitable[Any]]) -> None:
    """Warn if uvicorn was started without the bound. For other servers, whose bound is unknown: `note_large_frame`.

    Args:
        receive: the lifespan's, which under uvicorn is a method of an object that has the server's options.
    """
    options = getattr(getattr(receive, "__self__", None), "config", None)
    size = getattr(options, "ws_max_size", MAX_SERVER_FRAME)
    if size is None or size > MAX_SERVER_FRAME:
        _warn("any size" if size is None else f"up to {size} bytes")


@cache
def note_large_frame() -> None:
    """Warn, once in a process, that a frame has come which a server with the bound would have refused."""
    _warn("a larger size")


def _warn(held: str) -> None:
    logger.warning(WARNING, held, MAX_SERVER_FRAME, MAX_SERVER_FRAME)
