"""Maps exceptions of the MCP SDK and its HTTP client to `RemoteFailure`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from assistant.mcp_client.errors import FailureKind, RemoteFailure
from assistant.toolkit.guards.guarded_http import ResponseTooLong
from assistant.toolkit.guards.url_guard import UnsafeUrl

# The SDK's message for a stateful session that the server has dropped; the call was not run then.
_SESSION_DROPPED = "Session terminated"
# The SDK's messages for responses above the limits of `transport`; it does not keep the original exceptions.
_TOO_LONG = re.compile(r"response is longer than [\d,]+ (?:bytes|values)|event exceeded the \d+ byte limit")


def failure_of(exc: BaseException) -> RemoteFailure:
    """Return the `RemoteFailure` for an exception of the SDK or of its HTTP client."""
    leaves = list(_leaves(exc))
    for leaf in leaves:
        if isinstance(leaf, RemoteFailure):
            return leaf
    ranked = sorted((_classify(leaf) for leaf in leaves), key=lambda failure: failure.kind in {"protocol", "ended"})
    return ranked[0] if ranked else RemoteFailure("ended")


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for part in exc.exceptions:
            yield from _leaves(part)
    else:
        yield exc


def _classify(exc: BaseException) -> RemoteFailure:
    detail = f"{type(exc).__name__}: {exc}"
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, UnsafeUrl):
            return RemoteFailure("unreachable", str(cause))
        cause = cause.__cause__
    match exc:
        case httpx2.HTTPStatusError():
            # Not the text of the exception, which has a second line with a link.
            kind: FailureKind = "unauthorized" if exc.response.status_code in {401, 403} else "failing"
            return RemoteFailure(kind, f"HTTP {exc.response.status_code} {exc.response.reason_phrase}".strip())
        case OAuthFlowError():
            return RemoteFailure("unauthorized", detail)
        case httpx2.ConnectTimeout():
            return RemoteFailure("unreachable", detail)
        case TimeoutError() | httpx2.TimeoutException():
            return RemoteFailure("timeout", detail)
        case httpx2.ConnectError() | OSError():
            return RemoteFailure("unreachable", detail)
        case MCPError() | ResponseTooLong() if _TOO_LONG.search(str(exc)):
            return RemoteFailure("too long", detail)
        case MCPError() if exc.message == _SESSION_DROPPED:
            return RemoteFailure("ended", detail, was_not_run=True)
        case MCPError() if exc.code == CONNECTION_CLOSED:
            return RemoteFailure("ended", detail)
        case httpx2.TransportError():
            return RemoteFailure("ended", detail)
    return RemoteFailure("protocol", detail)
