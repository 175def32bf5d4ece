"""Opens the transport to an external MCP server."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from assistant.mcp_client.endpoint import Endpoint
from assistant.mcp_client.error_mapping import failure_of
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.last_words import ErrorTail, error_output, read_beginning
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.guards.guarded_http import guarded_client

CONNECT_SECONDS = 5.0
# A stream may be silent while a tool works; the timeout of the call itself is shorter.
READ_SECONDS = 300.0
MAX_ANSWER_BYTES = 4 * 2**20
# JSON values of one response or event, which the SDK parses on the event loop.
MAX_ANSWER_VALUES = 250_000
# How many streams one session may open within `STREAM_SECONDS`.
MAX_STREAMS = 10
STREAM_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Transport:
    """The transport to an endpoint, for the SDK's client.

    Attributes:
        errors: a program's standard error.
        refusals: what a server over HTTP refused.
    """

    streams: object
    errors: ErrorTail | None = None
    refusals: Refusals | None = None

    async def explained(self, failure: RemoteFailure, call: Mapping[str, Any] | None = None) -> RemoteFailure:
        """Return a failure with its cause: a program's last line, or the refusal that ended a session over HTTP.

        Args:
            call: the name and arguments of the call that failed.
        """
        if failure.kind == "ended" and self.refusals is not None:
            return self.refusals.cause_of(failure, call)
        if self.errors is None or failure.kind not in ("ended", "timeout", "unreachable", "protocol"):
            return failure
        await self.errors.wait()
        return failure.with_words(self.errors.last_line)


@asynccontextmanager
async def open_transport(endpoint: Endpoint) -> AsyncGenerator[Transport]:
    """Open the transport to an endpoint, for the SDK's client; the HTTP client is closed after the block."""
    if endpoint.command is not None:
        parameters = StdioServerParameters(command=endpoint.command.program, args=list(endpoint.command.arguments))
        async with error_output() as (errors, tail):
            yield Transport(stdio_client(parameters, errlog=errors), tail)
        return
    refusals = Refusals()
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    async with guarded_client(
        endpoint.guard,
        max_bytes=MAX_ANSWER_BYTES,
        max_values=MAX_ANSWER_VALUES,
        headers=dict(endpoint.headers),
        auth=_auth(endpoint),
        timeout=timeout,
        event_hooks={"request": [_StreamThrottle()], "response": [] if endpoint.oauth else [refusals]},
    ) as client:
        streams = streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES)
        yield Transport(streams, refusals=refusals)


class _StreamThrottle:
    """Delays GET requests: a server could end each stream at once and make the client open the next one endlessly."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=MAX_STREAMS)

    async def __call__(self, request: httpx2.Request) -> None:
        if request.method != "GET":
            return
        now = asyncio.get_running_loop().time()
        start_at = max(now, self._latest[0] + STREAM_SECONDS) if len(self._latest) == MAX_STREAMS else now
        self._latest.append(start_at)
        if start_at > now:
            await asyncio.sleep(start_at - now)


class Refusals:
    """Raises for 401, 403 and 5xx, which the SDK's transport would report as protocol errors and retry.

    Within an open session the SDK ends it then, and tells its callers only that: the refusal is kept for them.
    """

    def __init__(self) -> None:
        self._failure: RemoteFailure | None = None
        self._refused: object = None

    async def __call__(self, response: httpx2.Response) -> None:
        if response.status_code not in {401, 403} and response.status_code < 500:
            return
        await read_beginning(response)
        try:
            response.raise_for_status()
        except httpx2.HTTPStatusError as exc:
            if response.request.method == "POST":  # a refused stream ends no session
                self._failure = failure_of(exc)
                self._refused = load_json(response.request.content)
            raise

    def cause_of(self, ended: RemoteFailure, call: Mapping[str, Any] | None) -> RemoteFailure:
        """Return the refusal that ended the session; the same failure if there was none.

        A call that was refused by 401 or 403 itself has not run. Of others that were waiting, nobody knows.
        """
        found = self._failure
        if found is None:
            return ended
        is_refused = call is not None and _is_of(self._refused, call)
        may_have_run = ended.may_have_run and not (is_refused and found.kind in ("unauthorized", "forbidden"))
        return RemoteFailure(found.kind, found.detail, may_have_run=may_have_run)


def _is_of(message: object, call: Mapping[str, Any]) -> bool:
    """Return whether a message is the request of a call."""
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    params = message.get("params") or {}
    return all((params.get(name) or None) == (value or None) for name, value in call.items())


def _auth(endpoint: Endpoint) -> httpx2.Auth | None:
    if endpoint.oauth is None:
        return None
    return ClientCredentialsOAuthProvider(
        server_url=endpoint.url,
        storage=_SessionTokens(),
        client_id=endpoint.oauth.client_id,
        client_secret=endpoint.oauth.client_secret,
        scope=endpoint.oauth.scope or None,
        issuer=endpoint.oauth.issuer,
    )


class _SessionTokens:
    """Keeps OAuth tokens in memory for one session."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info
