"""Maps exceptions of the MCP SDK and its HTTP client to `RemoteFailure`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
)
from pydantic import ValidationError

from assistant.mcp_client.definitions import visible
from assistant.mcp_client.errors import SENTENCES, FailureKind, RemoteFailure
from assistant.mcp_client.last_words import words_of
from assistant.mcp_client.unparsed_answers import UNREADABLE
from assistant.toolkit.guards.guarded_http import ResponseTooLong
from assistant.toolkit.guards.url_guard import UnsafeUrl
from assistant.toolkit.validation_errors import sentence

# The SDK's message for a stateful session that the server has dropped; the call was not run then.
_SESSION_DROPPED = "Session terminated"
# The SDK's messages for a connection or a stream that has ended; servers answer with the same code, -32000, themselves.
_ENDED = re.compile(r"Connection closed\Z|SSE stream (?:ended|failed)\b")
# The SDK's messages for responses above the limits of `transport`; it does not keep the original exceptions.
_TOO_LONG = re.compile(r"response is longer than [\d,]+ (?:bytes|values)|event exceeded the \d+ byte limit")
# The SDK's message for a status of 4xx without an error of the protocol.
_NO_ANSWER = "Server returned an error response"
# By these, which the protocol has for nothing else, a server refuses a call that it has not begun. Tools raise "invalid
# params" and "method not found" themselves, for something behind them and after their effect too.
_NOT_BEGUN = frozenset(
    {
        HEADER_MISMATCH,
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        UNSUPPORTED_PROTOCOL_VERSION,
        URL_ELICITATION_REQUIRED,
    }
)
# Errors of the protocol and of its implementations, whose words are none of the tool's.
_OF_PROTOCOL = frozenset({PARSE_ERROR, INVALID_REQUEST, *range(-32099, CONNECTION_CLOSED)})
# Failures after which nobody knows whether the server has run the call.
_AFTER_SENDING = frozenset({"failing", "timeout", "error", "protocol", "ended", "too long"})
MAX_SAID = 4_000
# In the data of an error that `http_client` makes: what failed, and what the server said for the model.
_FAILURE = "tenant-assistant/failure"
_SAID = "tenant-assistant/said"
# What statuses of HTTP say; another one below 500 refuses the request.
_KINDS: dict[int, FailureKind] = {401: "unauthorized", 403: "forbidden", 408: "failing", 429: "busy"}
# Failures about the request itself, whose words help who has made it.
_EXPLAINED = frozenset({"forbidden", "error"})


def call_failure_of(exc: BaseException) -> RemoteFailure:
    """Return the `RemoteFailure` for an exception of a tool call that was sent.

    Unless the server has certainly not begun it, it may have run. If the server answered with an error of the tool, its
    words are told.
    """
    failure = failure_of(exc)
    error = next((leaf for leaf in _leaves(exc) if isinstance(leaf, MCPError)), None)
    if failure.was_not_run or failure.kind not in _AFTER_SENDING:
        return failure
    if error is None or failure.kind != "protocol":
        return RemoteFailure(failure.kind, failure.detail, said=failure.said, may_have_run=True)
    may_have_run = error.code not in _NOT_BEGUN
    if error.message == _NO_ANSWER:
        return RemoteFailure("failing", failure.detail, may_have_run=may_have_run)
    if error.code in _OF_PROTOCOL:
        return RemoteFailure("protocol", failure.detail, may_have_run=may_have_run)
    said = visible(error.message)[:MAX_SAID]
    if error.error.data == UNREADABLE:
        return RemoteFailure("protocol", failure.detail, said=said, may_have_run=True)
    return RemoteFailure("error", failure.detail, said=said, may_have_run=may_have_run)


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
        case ValidationError():
            # Not the text of the exception, which has links and what the server answered.
            return RemoteFailure("protocol", visible(sentence(exc, root="the answer", limit=3)))
        case httpx2.HTTPStatusError():
            # Not the text of the exception, which has a second line with a link.
            code = exc.response.status_code
            words = words_of(exc.response)
            kind: FailureKind = _KINDS.get(code, "failing" if code >= 500 else "error")
            status = f"HTTP {code} {exc.response.reason_phrase}".strip()
            return RemoteFailure(kind, status, said=words if kind in _EXPLAINED else "").with_words(words)
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
        case MCPError():
            return _classify_error(exc)
        case httpx2.TransportError():
            return RemoteFailure("ended", detail)
    return RemoteFailure("protocol", detail)


def _classify_error(error: MCPError) -> RemoteFailure:
    if (told := _told(error)) is not None:
        return told
    detail = f"{type(error).__name__}: {error}"
    if error.message == _SESSION_DROPPED:
        return RemoteFailure("ended", detail, was_not_run=True)
    has_ended = error.code == CONNECTION_CLOSED and _ENDED.match(error.message) is not None
    return RemoteFailure("ended" if has_ended else "protocol", detail)


def authorization_failure(response: httpx2.Response, exc: OAuthFlowError) -> RemoteFailure | None:
    """Return the failure of an authorization server that is out of order; None if it has refused the credentials.

    A token that cannot be read is no refusal, either, nor are metadata that are missing or another server's: the
    credentials were not sent then.

    Args:
        response: its last one.
        exc: what the SDK made of it.
    """
    code = response.status_code
    kind: FailureKind | None = None
    was_sent = response.request.method == "POST"
    if code >= 500 or code in (408, 429):
        kind = _KINDS.get(code, "failing")
    elif response.is_success or not was_sent:
        kind = "protocol"
    if kind is None:
        return None
    detail = f"The authorization server answered HTTP {code} {response.reason_phrase}".strip()
    if kind == "protocol" and not was_sent:
        detail = f"{exc} ({detail})"
    return RemoteFailure(kind, detail).with_words("" if response.is_success else words_of(response))


def failure_data(failure: RemoteFailure) -> dict[str, str]:
    """Return the data of an error of JSON-RPC with which `failure_of` makes the same failure again."""
    return {_FAILURE: failure.kind, _SAID: failure.said}


def _told(error: MCPError) -> RemoteFailure | None:
    data = error.error.data
    if not isinstance(data, dict):
        return None
    kind = next((one for one in SENTENCES if one == data.get(_FAILURE)), None)
    said = data.get(_SAID)
    return None if kind is None else RemoteFailure(kind, error.message, said=visible(str(said or ""))[:MAX_SAID])
