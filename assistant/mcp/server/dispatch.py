"""Hands requests of authenticated members to the MCP SDK."""

from __future__ import annotations

from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from assistant.mcp.server.caller import with_member
from assistant.mcp.server.change_streams import stream_changes
from assistant.mcp.server.session_manager import get_manager
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.origins import headers_of


async def answer(scope: Scope, receive: Receive, send: Send, member: Member) -> None:
    """Answer one HTTP request of a member."""
    is_modern = headers_of(scope).get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
    if scope["method"] == "GET" and not is_modern:
        await stream_changes(scope, receive, send, member)
    else:
        manager = await get_manager()
        await manager.handle_request(with_member(scope, member), receive, send)
