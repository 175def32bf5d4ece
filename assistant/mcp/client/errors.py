"""What goes wrong between us and an outside MCP server, as failures that a model may read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from tools import ToolError
from tools.urlguard import UnsafeUrl

FailureKind = Literal["unreachable", "timeout", "unauthorized", "protocol", "changed", "gone", "ended"]

SENTENCES: dict[FailureKind, str] = {
    "unreachable": "The outside server cannot be reached. Try again later.",
    "timeout": "The outside server did not answer in time. Try again later.",
    "unauthorized": "The outside server did not accept our credentials. An administrator can set them.",
    "protocol": "The outside server gave an answer that breaks the protocol.",
    "changed": "The outside server has changed this tool. An administrator must accept the change first.",
    "gone": "The outside server no longer offers this tool.",
    "ended": "The connection to the outside server ended before it answered.",
}
# What the transport says of a stateful session that the server has forgotten; nothing was run then.
_FORGOTTEN = "Session terminated"


class RemoteFailure(ToolError):
    """No answer of the tool, but a failure on the way to it; the message is a sentence of ours.

    What the server said is not in it, but in `detail`, for the operator's log. `was_not_run`: the server never worked
    on the call, so that it may be sent again.
    """

    def __init__(self, kind: FailureKind, detail: str = "", *, was_not_run: bool = False) -> None:
        super().__init__(SENTENCES[kind])
        self.kind: FailureKind = kind
        self.detail = detail[:500]
        self.was_not_run = was_not_run


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
        case httpx2.HTTPStatusError() if exc.response.status_code in {401, 403}:
            return RemoteFailure("unauthorized", detail)
        case OAuthFlowError():
            return RemoteFailure("unauthorized", detail)
        case TimeoutError() | httpx2.TimeoutException():
            return RemoteFailure("timeout", detail)
        case httpx2.ConnectError() | httpx2.HTTPStatusError() | OSError():
            return RemoteFailure("unreachable", detail)
        case MCPError() if exc.message == _FORGOTTEN:
            return RemoteFailure("ended", detail, was_not_run=True)
        case MCPError() if exc.code == CONNECTION_CLOSED:
            return RemoteFailure("ended", detail)
        case httpx2.TransportError():
            return RemoteFailure("ended", detail)
    return RemoteFailure("protocol", detail)
