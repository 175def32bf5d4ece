"""An open session with an external MCP server: lists its tools and calls them.

This module is imported on first use: importing the SDK takes a third of the time that a process needs to start.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext, ElicitationFnT, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from assistant.mcp_client.answer_repair import LEFT_OUT, RepairedTransport
from assistant.mcp_client.definitions import MAX_TOOLS, Listing, OnTools, ToolDefinition, read_listing
from assistant.mcp_client.endpoint import Endpoint
from assistant.mcp_client.error_mapping import call_failure_of, failure_of
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.handlers import NO_HANDLERS, Handlers, LogLevel
from assistant.mcp_client.progress import ThrottledProgress
from assistant.mcp_client.questions import CallQuestions
from assistant.mcp_client.results import convert_result, without_value
from assistant.mcp_client.schema_process import fits
from assistant.mcp_client.server_requests import log_callback, roots_callback, sampling_callback
from assistant.mcp_client.transport import Transport, open_transport
from assistant.toolkit import Question, ToolResult
from assistant.toolkit.definition.questions import NeedsAnswer
from assistant.toolkit.schema.bounds import InvalidSchema

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Of a request that is no call of a tool.
REQUEST_SECONDS = 30.0
# For connecting, negotiating the protocol version and the first listing together; and for each later listing.
OPEN_SECONDS = 10.0
# Additional time for a program to start.
START_SECONDS = 20.0
# Pause between two listings after change notifications; all notifications in a pause result in one listing at its end.
ANNOUNCED_SECONDS = 10.0
MAX_PAGES = 50
CLIENT_INFO = types.Implementation(name="tenant-assistant", version="1")
# The questions of the call that is sent. The SDK handles what comes on a call's own stream in the call's context.
_asking: ContextVar[CallQuestions | None] = ContextVar("mcp_asking", default=None)


class RemoteSession:
    """A session with one server for one user; usable from any task of the event loop.

    `tools` are those of the latest `listing`, by name; it is refreshed when the server announces a change.
    """

    def __init__(self, client: Client, on_tools: OnTools | None, transport: Transport) -> None:
        self.tools: Mapping[str, ToolDefinition] = {}
        self.listing = Listing(())
        self._listed_at = 0.0
        self._client = client
        self._on_tools = on_tools
        self._transport = transport
        self._has_changed = asyncio.Event()
        self._asking: list[CallQuestions] = []

    @property
    def protocol_version(self) -> str:
        return self._client.protocol_version

    @property
    def server_name(self) -> str:
        """The server's name and version; empty if it gives none."""
        info = self._client.server_info
        return f"{info.name} {info.version}".strip()[:200] if info else ""

    @property
    def capabilities(self) -> types.ServerCapabilities:
        return self._client.server_capabilities

    async def request(self, send: Callable[[Client], Awaitable[T]]) -> T:
        """Send a request that is no call of a tool, within `REQUEST_SECONDS`. Raises `RemoteFailure`."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await send(self._client)
        except Exception as exc:
            failure = call_failure_of(exc)
            # Reading changes nothing, so what may have happened does not matter.
            failure = RemoteFailure(failure.kind, failure.detail, said=failure.said)
            raise await self._transport.explained(failure) from exc

    async def refresh(self) -> None:
        """List the tools again, within `OPEN_SECONDS`. Raises `RemoteFailure`."""
        listed: list[types.Tool] = []
        malformed: dict[str, str] = {}
        unread = ""
        cursor: str | None = None
        seen: set[str] = set()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                for _ in range(MAX_PAGES):
                    page = await self._client.list_tools(cursor=cursor)
                    listed += page.tools
                    malformed.update((page.meta or {}).get(LEFT_OUT, ()))
                    cursor = page.next_cursor
                    if cursor is None or cursor in seen or len(listed) > MAX_TOOLS:
                        break
                    seen.add(cursor)
        except (MCPError, ValidationError) as exc:
            failure = failure_of(exc)
            if not seen or failure.kind != "protocol":
                raise await self._transport.explained(failure) from exc
            # The pages before it stand: one bad page does not take the server's other tools away.
            unread = failure.detail
        except Exception as exc:
            raise await self._transport.explained(failure_of(exc)) from exc
        self.listing = await asyncio.to_thread(read_listing, listed, malformed, unread)
        self.tools = {definition.name: definition for definition in self.listing.tools}
        if problems := "; ".join(filter(None, (self.listing.sentence, unread))):
            logger.warning("Tools of the MCP server %r cannot be used: %s", self.server_name, problems)
        self._listed_at = asyncio.get_running_loop().time()
        if self._on_tools is not None:
            await self._on_tools(self.listing)

    async def refresh_if_older(self, seconds: float) -> None:
        """List the tools again if the latest listing is older than this. Raises `RemoteFailure`."""
        if asyncio.get_running_loop().time() - self._listed_at > seconds:
            await self.refresh()

    async def listed(self, name: str, *, no_older_than: float) -> ToolDefinition | None:
        """Return a tool from the listing; None if it is not listed.

        A listing that is older than `no_older_than` seconds is refreshed first, which finds changes that the server did
        not announce. Raises `RemoteFailure`.
        """
        await self.refresh_if_older(no_older_than)
        definition = self.tools.get(name)
        if definition is None and self.listing.unread:
            raise RemoteFailure("protocol", self.listing.unread)  # it may stand in the part that cannot be read
        return definition

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        progress: ProgressFnT | None = None,
        questions: CallQuestions | None = None,
    ) -> ToolResult:
        """Call a tool and convert its result.

        Args:
            questions: answers what the server asks during the call, if the session was opened with `asks_people`.

        Raises:
            NeedsAnswer: the server has asked what `questions` cannot answer. Its own result is not used.
            RemoteFailure: there is no result.
        """
        listener = ThrottledProgress(progress) if progress is not None else None
        sent = cast(types.RequestParamsMeta, dict(meta)) if meta else None
        try:
            with self._answering(questions):
                result = await self._client.call_tool(name, arguments, progress_callback=listener, meta=sent)
            if listener is not None:
                await listener.flush()
        except asyncio.CancelledError:
            # The server may hang: this makes the next call list the tools first, which fails then.
            self._listed_at = -math.inf
            raise
        except Exception as exc:
            if questions is not None and questions.open is not None:
                raise NeedsAnswer(questions.open) from exc
            raise await self._transport.explained(call_failure_of(exc)) from exc
        if questions is not None and questions.open is not None:
            raise NeedsAnswer(questions.open)
        try:
            # In a thread, since a server's answer may have megabytes of text.
            converted = await asyncio.to_thread(convert_result, result)
        except Exception as exc:
            logger.exception("The result of %s of the MCP server %r cannot be read", name, self.server_name)
            raise RemoteFailure("protocol", f"{type(exc).__name__}: {exc}", may_have_run=True) from exc
        if result.is_error or await self._matches_output_schema(name, converted):
            return converted
        logger.warning("The result of %s of the MCP server %r does not match its schema", name, self.server_name)
        return without_value(converted)

    @contextmanager
    def _answering(self, questions: CallQuestions | None) -> Generator[None]:
        """Within the block, the server's questions are answered by `questions`."""
        token = _asking.set(questions)
        if questions is not None:
            self._asking.append(questions)
        try:
            yield
        finally:
            _asking.reset(token)
            if questions is not None:
                self._asking.remove(questions)

    async def on_elicitation(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer a question of the server; one that belongs to no call is declined."""
        questions = _asking.get()
        if questions is None and len(self._asking) == 1:
            (questions,) = self._asking  # over standard input, or on a stream of its own: the only call that runs
        if questions is None:
            return types.ElicitResult(action="decline")
        schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else None
        answer = await questions.ask(params.message, schema)
        if answer is None:
            if self._client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                # Ends the call here: its next request would be the one with the answers.
                raise NeedsAnswer(cast(Question, questions.open))
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action=answer.action, content=cast(Any, answer.content))

    async def _matches_output_schema(self, name: str, result: ToolResult) -> bool:
        listed = self.tools.get(name)
        if listed is None or listed.output_schema is None:
            return True
        try:
            return result.value is not None and await fits(result.value, dict(listed.output_schema))
        except InvalidSchema:
            return False

    async def watch(self) -> None:
        """Refresh after every change notification, until the session ends or `on_tools` reports the server as gone."""
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

    async def ask_for_logs(self, level: LogLevel) -> None:
        """Ask a server of a protocol before 2026-07-28 for its log; later ones read the level of each request."""
        if self._client.server_capabilities.logging is None or self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        with suppress(MCPError, TimeoutError):
            await self._client.session.send_request(
                types.SetLevelRequest(params=types.SetLevelRequestParams(level=level)), types.EmptyResult
            )

    async def _listen(self) -> None:
        """Subscribe to changes, if the protocol version has subscriptions; older servers notify without one."""
        capability = self._client.server_capabilities.tools
        if capability is None or not capability.list_changed:
            return
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with self._client.listen(tools_list_changed=True) as subscription:
                # What has changed since the listing, before the subscription stood, was announced to nobody.
                self._has_changed.set()
                async for _ in subscription:
                    self._has_changed.set()

    def on_notification(self, message: IncomingMessage) -> None:
        """Handle a notification that came without a subscription."""
        if isinstance(message, types.ToolListChangedNotification):
            self._has_changed.set()


async def _skip_validation(name: str, result: types.CallToolResult) -> None:
    """Replace the SDK's validation of results, in which the patterns of a server's schema could take unlimited time."""


def _callbacks(handlers: Handlers, server: Callable[[], str]) -> dict[str, Any]:
    """Return the arguments of the SDK's client for what a server does by itself."""
    if handlers is NO_HANDLERS:
        return {}
    return {
        "logging_callback": log_callback(handlers, server),
        "log_level": handlers.log_level if handlers.log is not None else None,
        "list_roots_callback": roots_callback(handlers),
        "sampling_callback": sampling_callback(handlers, server),
    }


@asynccontextmanager
async def open_session(
    endpoint: Endpoint,
    *,
    on_tools: OnTools | None,
    elicitation: ElicitationFnT | None,
    asks_people: bool = False,
    handlers: Handlers = NO_HANDLERS,
) -> AsyncGenerator[RemoteSession]:
    """Open a session for `connect`, within `OPEN_SECONDS`; a program may take `START_SECONDS` more."""
    sessions: list[RemoteSession] = []

    async def on_message(message: IncomingMessage) -> None:
        for session in sessions:
            session.on_notification(message)

    async def on_elicitation(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        return await sessions[0].on_elicitation(params) if sessions else types.ElicitResult(action="decline")

    seconds = OPEN_SECONDS + (START_SECONDS if endpoint.command is not None else 0.0)
    transport: Transport | None = None
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(seconds):
                transport = await stack.enter_async_context(open_transport(endpoint))
                client = Client(
                    RepairedTransport(cast(Any, transport.streams), transport.note_output),
                    client_info=CLIENT_INFO,
                    cache=None,
                    message_handler=on_message,
                    elicitation_callback=on_elicitation if asks_people else elicitation,
                    **_callbacks(handlers, lambda: sessions[0].server_name if sessions else ""),
                )
                session = RemoteSession(await stack.enter_async_context(client), on_tools, transport)
                client.session.validate_tool_result = _skip_validation  # type: ignore[method-assign]
                sessions.append(session)
                if handlers.log is not None:
                    await session.ask_for_logs(handlers.log_level)
                await session.refresh()
            yield session
    except Exception as exc:
        failure = failure_of(exc)
        raise (failure if transport is None else await transport.explained(failure)) from exc
