"""What goes wrong between us and an outside MCP server: the SDK's exceptions as failures of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from assistant.mcp.client.errors import FailureKind, RemoteFailure
from tools.guardedhttp import AnswerTooLong
from tools.urlguard import UnsafeUrl

# What the transport says of a stateful session that the server has forgotten; nothing was run then.
_FORGOTTEN = "Session terminated"
# What it says of answers above `MAX_ANSWER_BYTES`, whose exceptions it does not keep.
_TOO_LONG = re.compile(r"answer is longer than [\d,]+ (?:bytes|values)|event exceeded the \d+ byte limit")


def failure_of(exc: BaseException) -> RemoteFailure:
    """What an exception of the SDK, or of the HTTP client below it, means to us."""
    leaves = list(_leaves(exc))
    for leaf in leaves:
        if isinstance(leaf, RemoteFailure):
            return leaf
    ranked = sorted((_judge(leaf) for leaf in leaves), key=lambda failure: failure.kind in {"protocol", "ended"})
    return ranked[0] if ranked else RemoteFailure("ended")


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for part in exc.exceptions:
            yield from _leaves(part)
    else:
        yield exc


def _judge(exc: BaseException) -> RemoteFailure:
    detail = f"{type(exc).__name__}: {exc}"
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, UnsafeUrl):
            return RemoteFailure("unreachable", str(cause))
        cause = cause.__cause__
    match exc:
        case httpx2.HTTPStatusError():
            # The exception's own text has a second line, with a link to what the status means.
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
        case MCPError() | AnswerTooLong() if _TOO_LONG.search(str(exc)):
            return RemoteFailure("too long", detail)
        case MCPError() if exc.message == _FORGOTTEN:
            return RemoteFailure("ended", detail, was_not_run=True)
        case MCPError() if exc.code == CONNECTION_CLOSED:
            return RemoteFailure("ended", detail)
        case httpx2.TransportError():
            return RemoteFailure("ended", detail)
    return RemoteFailure("protocol", detail)
