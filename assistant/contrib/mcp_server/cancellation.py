"""Cancels calls when their client requests it or loses access.

Without a session, a client of an older protocol cancels with a notification in a separate request. Since 2026-07-28
clients close the stream instead. On a session the SDK finds the request itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError
from mcp_types import CancelledNotificationParams, RequestId

from assistant.contrib.mcp_server.caller import Context, member_of, principal
from assistant.services.callers.connections import while_access_lasts
from assistant.services.tenancy.authentication import Caller

_running: defaultdict[tuple[str, RequestId], list[anyio.CancelScope]] = defaultdict(list)


@contextmanager
def cancellable(context: Context) -> Iterator[None]:
    """Cancel the block when the client requests it or loses access. Raises `MCPError` if it was cancelled."""
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
    """Cancel the request with that id in this process. If two clients share a key and an id, cancel neither."""
    if params.request_id is None:
        return
    scopes = _running.get((principal(member_of(context)), params.request_id), [])
    if len(scopes) == 1:
        scopes[0].cancel()
