"""Hands requests of authenticated members to the MCP SDK."""

from __future__ import annotations

from django.conf import settings
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from assistant.contrib.mcp_server.caller import principal, with_member
from assistant.contrib.mcp_server.change_streams import stream_changes
from assistant.contrib.mcp_server.older_clients import is_own_session, read_small, serve
from assistant.contrib.mcp_server.session_manager import get_manager
from assistant.contrib.mcp_server.sessions import HEADER
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.origins import headers_of


async def answer(scope: Scope, receive: Receive, send: Send, member: Member) -> None:
    """Answer one HTTP request of a member."""
    headers = headers_of(scope)
    is_modern = headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
    session_id = headers.get(HEADER, "")
    # Reads on in the stream of a call. Streams of changes have no ids.
    is_resumed = settings.ASSISTANT_MCP_SESSIONS and "last-event-id" in headers and not is_own_session(session_id)
    if scope["method"] == "GET" and not is_modern and not is_resumed:
        await stream_changes(scope, receive, send, member)
        return
    scope = with_member(scope, member)
    if is_modern or scope["method"] != "POST":
        await (await get_manager(with_sessions=settings.ASSISTANT_MCP_SESSIONS)).handle_request(scope, receive, send)
        return
    receive, message = await read_small(receive)
    # A request without a session that opens none, such as one by curl, is served by itself.
    is_of_session = bool(session_id) or message.get("method") == "initialize"
    if settings.ASSISTANT_MCP_SESSIONS and is_of_session and not is_own_session(session_id):
        await (await get_manager(with_sessions=True)).handle_request(scope, receive, send)
        return
    manager = await get_manager(with_sessions=False)
    whose = principal(member)
    await serve(manager.handle_request, scope, receive, send, message=message, principal=whose, session_id=session_id)
