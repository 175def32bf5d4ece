"""Opens the transport to an external MCP server."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from assistant.mcp_client.endpoint import Endpoint
from assistant.mcp_client.error_mapping import authorization_failure
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.http_client import MAX_ANSWER_BYTES, AnswerClient
from assistant.mcp_client.last_words import ErrorTail, error_output, read_beginning
from assistant.toolkit.guards.guarded_http import guarded_client

CONNECT_SECONDS = 5.0
# A stream may be silent while a tool works; the timeout of the call itself is shorter.
READ_SECONDS = 300.0
# JSON values of one response or event, which the SDK parses on the event loop.
MAX_ANSWER_VALUES = 250_000
# How many streams one session may open within `STREAM_SECONDS`.
MAX_STREAMS = 10
STREAM_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Transport:
    """The transport to an endpoint, for the SDK's client.

    Attributes:
        errors: a program's standard error, and what of its standard output is no message.
    """

    streams: object
    errors: ErrorTail | None = None

    def note_output(self, line: str) -> None:
        """Keep a line of a program's standard output that is no message."""
        if self.errors is not None:
            self.errors.note_output(line)

    async def explained(self, failure: RemoteFailure) -> RemoteFailure:
        """Return a failure with the last line of the program that caused it."""
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
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    async with guarded_client(
        endpoint.guard,
        max_bytes=MAX_ANSWER_BYTES,
        max_values=MAX_ANSWER_VALUES,
        headers=dict(endpoint.headers),
        auth=_auth(endpoint),
        timeout=timeout,
        event_hooks={"request": [_StreamThrottle()]},
        client_class=AnswerClient,
    ) as client:
        yield Transport(streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES))


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


def _auth(endpoint: Endpoint) -> httpx2.Auth | None:
    if endpoint.oauth is None:
        return None
    return _ClientCredentials(
        server_url=endpoint.url,
        storage=_SessionTokens(),
        client_id=endpoint.oauth.client_id,
        client_secret=endpoint.oauth.client_secret,
        scope=endpoint.oauth.scope or None,
        issuer=endpoint.oauth.issuer,
    )


class _ClientCredentials(ClientCredentialsOAuthProvider):
    """The SDK's grant of client credentials, which asks for a wider scope where a server answers 403.

    If there is none, what failed is the request that was forbidden, not the credentials. Nor are they what failed where
    the authorization server is out of order.
    """

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super().async_auth_flow(request)
        forbidden: httpx2.Response | None = None
        authorizing: httpx2.Response | None = None
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if outgoing is not request:
                    authorizing = response
                    await read_beginning(response)
                elif response.status_code == 403:
                    forbidden = response
                    await read_beginning(response)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except OAuthFlowError as exc:
            if forbidden is not None:
                forbidden.raise_for_status()
            if authorizing is not None and (failure := authorization_failure(authorizing, exc)) is not None:
                raise failure from exc
            raise
        finally:
            await flow.aclose()


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
