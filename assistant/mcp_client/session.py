"""One open session with an outside MCP server: which tools it lists, and calls to them.

Imported late: the SDK takes a third of a process's start.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, cast

import mcp_types as types
from mcp import Client
from mcp.client.session import ElicitationFnT, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError

from assistant.mcp_client.definitions import MAX_TOOLS, OnTools, ToolDefinition, read_listing
from assistant.mcp_client.endpoint import Endpoint
from assistant.mcp_client.error_mapping import failure_of
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.progress import throttled
from assistant.mcp_client.results import convert_result
from assistant.mcp_client.transport import open_wire
from assistant.toolkit import ToolResult
from assistant.toolkit.schema.process import fits

logger = logging.getLogger(__name__)

# Seconds for all of: connecting, agreeing on a protocol version, and the first listing; and for each later one.
OPEN_SECONDS = 10.0
# What a program has on top of that, to start.
START_SECONDS = 20.0
# Between two listings that announcements lead to; those that come meanwhile are answered by one more at its end.
ANNOUNCED_SECONDS = 10.0
MAX_PAGES = 50
CLIENT_INFO = types.Implementation(name="tenant-assistant", version="1")


class RemoteSession:
    """Speaks to one server for one user; calls may come from any task of the event loop.

    `tools` is what the server has listed last, by name; kept up to date while the server announces changes.
    `left_out` names the listed tools that cannot be used, with the reasons; empty if there are none.
    """

    def __init__(self, client: Client, on_tools: OnTools | None) -> None:
        self.tools: Mapping[str, ToolDefinition] = {}
        self.left_out = ""
        self._listed_at = 0.0
        self._client = client
        self._on_tools = on_tools
        self._has_changed = asyncio.Event()

    @property
    def protocol_version(self) -> str:
        return self._client.protocol_version

    @property
    def server_name(self) -> str:
        """What the server calls itself; empty if it does not."""
        info = self._client.server_info
        return f"{info.name} {info.version}".strip()[:200] if info else ""

    async def refresh(self) -> None:
        """List the tools anew, within `OPEN_SECONDS`. Raises `RemoteFailure`."""
        listed: list[types.Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                for _ in range(MAX_PAGES):
                    page = await self._client.list_tools(cursor=cursor)
                    listed += page.tools
                    cursor = page.next_cursor
                    if cursor is None or cursor in seen or len(listed) > MAX_TOOLS:
                        break
                    seen.add(cursor)
        except Exception as exc:
            raise failure_of(exc) from exc
        found = await asyncio.to_thread(read_listing, listed)
        self.tools = {definition.name: definition for definition in found.tools}
        self.left_out = found.sentence
        if self.left_out:
            logger.warning("Tools of an outside server cannot be used: %s", self.left_out)
        self._listed_at = asyncio.get_running_loop().time()
        if self._on_tools is not None:
            await self._on_tools(tuple(self.tools.values()))

    async def listed(self, name: str, *, no_older_than: float) -> ToolDefinition | None:
        """The tool as the server listed it at most so many seconds ago; None if it did not. Raises `RemoteFailure`.

        A server that changes without a word, or to whom the subscription was lost, is found out here.
        """
        if asyncio.get_running_loop().time() - self._listed_at > no_older_than:
            await self.refresh()
        return self.tools.get(name)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        progress: ProgressFnT | None = None,
    ) -> ToolResult:
        """Call a tool and convert what it gives.

        Raises:
            RemoteFailure: there is no answer of the tool's, or none that keeps to its own output schema.
        """
        told = throttled(progress) if progress is not None else None
        sent = cast(types.RequestParamsMeta, dict(meta)) if meta else None
        try:
            result = await self._client.call_tool(name, arguments, progress_callback=told, meta=sent)
        except asyncio.CancelledError:
            # Whoever lost patience cannot tell a slow tool from a server that hangs: the next call's listing can.
            self._listed_at = -math.inf
            raise
        except Exception as exc:
            raise failure_of(exc) from exc
        # In a thread: a server's answer may have megabytes, each text of which is looked through.
        converted = await asyncio.to_thread(convert_result, result)
        if not result.is_error and not await self._holds_to_its_schema(name, converted):
            raise RemoteFailure("protocol", f"the result of {name} is not what its schema says")
        return converted

    async def _holds_to_its_schema(self, name: str, result: ToolResult) -> bool:
        listed = self.tools.get(name)
        if listed is None or listed.output_schema is None:
            return True
        return result.value is not None and await fits(result.value, dict(listed.output_schema))

    async def watch(self) -> None:
        """List anew when the server announces a change, until the session ends or nobody wants the listings."""
        listening = asyncio.create_task(self._listen(), name="mcp-listen")
        try:
            while True:
                await self._has_changed.wait()
                self._has_changed.clear()
                try:
                    await self.refresh()
                except RemoteFailure as exc:
                    logger.info("A changed listing could not be read: %s (%s)", exc, exc.detail)
                    if exc.kind == "gone":
                        return
                await asyncio.sleep(ANNOUNCED_SECONDS)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self) -> None:
        """Subscribe to changes where the protocol has subscriptions; older servers just notify."""
        capability = self._client.server_capabilities.tools
        if capability is None or not capability.list_changed:
            return
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with self._client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    self._has_changed.set()

    def on_notification(self, message: IncomingMessage) -> None:
        """Take a notification that came outside of a subscription."""
        if isinstance(message, types.ToolListChangedNotification):
            self._has_changed.set()


async def _skip_validation(name: str, result: types.CallToolResult) -> None:
    """The SDK would hold results to the server's own schema, whose patterns and references can take it for ever."""


@asynccontextmanager
async def open_session(
    endpoint: Endpoint, *, on_tools: OnTools | None, elicitation: ElicitationFnT | None
) -> AsyncGenerator[RemoteSession]:
    """What `connect` gives, within `OPEN_SECONDS` (a program: `START_SECONDS` more)."""
    sessions: list[RemoteSession] = []

    async def on_message(message: IncomingMessage) -> None:
        for session in sessions:
            session.on_notification(message)

    seconds = OPEN_SECONDS + (START_SECONDS if endpoint.command is not None else 0.0)
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(seconds):
                wire = await stack.enter_async_context(open_wire(endpoint))
                client = Client(
                    cast(Any, wire),
                    client_info=CLIENT_INFO,
                    cache=None,
                    message_handler=on_message,
                    elicitation_callback=elicitation,
                )
                session = RemoteSession(await stack.enter_async_context(client), on_tools)
                client.session.validate_tool_result = _skip_validation  # type: ignore[method-assign]
                sessions.append(session)
                await session.refresh()
            yield session
    except Exception as exc:
        raise failure_of(exc) from exc
