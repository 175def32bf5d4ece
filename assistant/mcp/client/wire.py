"""How the wire to an outside MCP server is opened."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from assistant.mcp.client.endpoint import Endpoint
from tools.guardedhttp import guarded_client

# Seconds. A server may keep a stream silent while a tool works; the call's own limit ends it earlier.
CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 300.0
MAX_ANSWER_BYTES = 4 * 2**20
# They are parsed on the event loop, by the SDK.
MAX_ANSWER_VALUES = 250_000
# Of one session: how often it opens a stream in so many seconds.
MAX_STREAMS = 10
STREAM_SECONDS = 60.0


@asynccontextmanager
async def open_wire(endpoint: Endpoint) -> AsyncGenerator[object]:
    """The transport to an endpoint, for the SDK's client to enter; its HTTP client is closed afterwards."""
    if endpoint.command is not None:
        parameters = StdioServerParameters(command=endpoint.command.program, args=list(endpoint.command.arguments))
        yield stdio_client(parameters)
        return
    timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=READ_TIMEOUT)
    async with guarded_client(
        endpoint.guard,
        max_bytes=MAX_ANSWER_BYTES,
        max_values=MAX_ANSWER_VALUES,
        headers=dict(endpoint.headers),
        auth=_auth(endpoint),
        timeout=timeout,
        event_hooks={"request": [_Pace()], "response": [] if endpoint.oauth else [_say_refusals]},
    ) as client:
        yield streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES)


class _Pace:
    """Holds GETs back: a server can end a stream at once and ask for the next one at once, for ever."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=MAX_STREAMS)

    async def __call__(self, request: httpx2.Request) -> None:
        if request.method != "GET":
            return
        now = asyncio.get_running_loop().time()
        at = max(now, self._latest[0] + STREAM_SECONDS) if len(self._latest) == MAX_STREAMS else now
        self._latest.append(at)
        if at > now:
            await asyncio.sleep(at - now)


async def _say_refusals(response: httpx2.Response) -> None:
    """The transport would call a refused key, or a server that is down, an error of the protocol, and try another."""
    if response.status_code in {401, 403} or response.status_code >= 500:
        response.raise_for_status()


def _auth(endpoint: Endpoint) -> httpx2.Auth | None:
    if endpoint.oauth is None:
        return None
    return ClientCredentialsOAuthProvider(
        server_url=endpoint.url,
        storage=_TokensOfOneSession(),
        client_id=endpoint.oauth.client_id,
        client_secret=endpoint.oauth.client_secret,
        scope=endpoint.oauth.scope or None,
        issuer=endpoint.oauth.issuer,
    )


class _TokensOfOneSession:
    """Tokens live as long as the session that asked for them, in memory."""

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
