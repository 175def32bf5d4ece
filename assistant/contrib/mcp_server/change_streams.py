"""Streams of change notifications: `subscriptions/listen` since protocol 2026-07-28, GET before."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, event_to_notification
from mcp_types import (
    INTERNAL_ERROR,
    JSONRPCNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send

from assistant.contrib.mcp_server.caller import Context, member_of, principal
from assistant.contrib.mcp_server.list_changes import LISTS, MAX_STREAMS, TooManyStreams, Watch, watching
from assistant.contrib.mcp_server.sessions import HEADER, MAX_WATCHED, session_settings
from assistant.contrib.mcp_server.stored_events import RESUMABLE_SINCE, RETRY_MILLISECONDS
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.origins import headers_of

KEEP_ALIVE_SECONDS = 15.0
_FULL = {
    "code": "too_many_requests",
    "message": f"You have {MAX_STREAMS} streams open, which is the limit. Close one first.",
}
# Within this time a keep-alive is written to every stream, which ends those of disconnected clients.
_RETRY_AFTER = int(KEEP_ALIVE_SECONDS)
_RETRY = f"retry: {RETRY_MILLISECONDS}\n\n".encode()
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


async def listen(context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
    """Serve one stream until its client disconnects or loses access."""
    wanted = params.notifications
    uris = list(wanted.resource_subscriptions or ())[:MAX_WATCHED]
    honored = SubscriptionFilter(
        tools_list_changed=wanted.tools_list_changed or None,
        prompts_list_changed=wanted.prompts_list_changed or None,
        resources_list_changed=wanted.resources_list_changed or None,
        resource_subscriptions=uris or None,
    )
    lists = [name for name in LISTS if getattr(wanted, f"{name}_list_changed")]
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
    try:
        async with watching(member_of(context), lists, lambda: uris) as watch:
            acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
            await context.session.send_notification(
                SubscriptionsAcknowledgedNotification(params=acknowledged), related_request_id=context.request_id
            )
            async for event in watch:
                notification = event_to_notification(event, meta)
                await context.session.send_notification(notification, related_request_id=context.request_id)
    except TooManyStreams:
        about = {"code": _FULL["code"], "retryAfter": _RETRY_AFTER}
        raise MCPError(INTERNAL_ERROR, _FULL["message"], about) from None
    return SubscriptionsListenResult(_meta=meta)


async def stream_changes(scope: Scope, receive: Receive, send: Send, member: Member) -> None:
    """Answer the GET of an older client. On a session, also send changes of the resources it has subscribed to."""
    headers = headers_of(scope)
    if "text/event-stream" not in headers.get("accept", "") and "*/*" not in headers.get("accept", ""):
        await PlainTextResponse("This stream is text/event-stream.", 406)(scope, receive, send)
        return
    session_id = headers.get(HEADER)
    settings = session_settings(principal(member), session_id) if session_id else None
    try:
        async with watching(member, list(LISTS), lambda: settings.watched if settings else ()) as watch:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            if headers.get("mcp-protocol-version", "") >= RESUMABLE_SINCE:
                # Has the client reconnect when this process ends; it lists all again then, so no event id is needed.
                await send({"type": "http.response.body", "body": _RETRY, "more_body": True})
            await _send_events(watch, receive, send)
    except TooManyStreams:
        await JSONResponse(_FULL, 429, headers={"Retry-After": str(_RETRY_AFTER)})(scope, receive, send)


async def _send_events(watch: Watch, receive: Receive, send: Send) -> None:
    gone = asyncio.create_task(_watch_disconnect(receive, watch), name="mcp-stream-client")
    iterator = aiter(watch)
    try:
        while True:
            frame = b": keep-alive\n\n"
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    event = await anext(iterator)
                    notification = event_to_notification(event, {}).model_dump(
                        by_alias=True, mode="json", exclude_none=True
                    )
                    line = JSONRPCNotification(jsonrpc="2.0", **notification).model_dump_json(exclude_none=True)
                    frame = f"event: message\ndata: {line}\n\n".encode()
            await send({"type": "http.response.body", "body": frame, "more_body": True})
    except StopAsyncIteration:
        if not gone.done():
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        gone.cancel()


async def _watch_disconnect(receive: Receive, watch: Watch) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    watch.close()
