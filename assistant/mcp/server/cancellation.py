"""Calls that end before their time: their client cancels them, or loses the right to be here.

A client without a session cancels by a notice of its own, which arrives apart from the call's request.
Since 2026-07-28 a client closes the stream instead, and on a session the SDK knows which request is meant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError
from mcp_types import CancelledNotificationParams, RequestId

from assistant.mcp.server.caller import Context, member_of, principal
from assistant.services.callers.connections import while_access_lasts
from assistant.services.tenancy.authentication import Caller

_running: defaultdict[tuple[str, RequestId], list[anyio.CancelScope]] = defaultdict(list)


@contextmanager
def cancellable(context: Context) -> Iterator[None]:
    """Let the block be ended by its client's notice, or with its client's key. Raises `MCPError` if it was."""
    assert context.request_id is not None  # noqa: S101 - a request has one  # nosec B101
    member = member_of(context)
    key = (principal(member), context.request_id)
    with anyio.CancelScope() as scope, while_access_lasts(Caller(member), scope.cancel):
        _running[key].append(scope)
        try:
            yield
        finally:
            _running[key].remove(scope)
            if not _running[key]:
                del _running[key]
    if scope.cancelled_caught:
        raise MCPError(REQUEST_CANCELLED, "Request cancelled")


async def cancel(context: Context, params: CancelledNotificationParams) -> None:
    """End the request of that id, if this process runs it; if two clients share a key and an id, neither is ended."""
    if params.request_id is None:
        return
    scopes = _running.get((principal(member_of(context)), params.request_id), [])
    if len(scopes) == 1:
        scopes[0].cancel()
