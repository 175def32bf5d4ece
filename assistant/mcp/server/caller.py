"""Who is calling over MCP: put into the ASGI scope by our own authentication, and read from nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import set_tenants

_MEMBER = "assistant.mcp.member"

Context = ServerRequestContext[Any, Any]


def with_member(scope: Mapping[str, Any], member: Member) -> dict[str, Any]:
    """The scope of a request that this member sent; the SDK gives a session to none but who has opened it."""
    token = AccessToken(token="", client_id=principal(member), scopes=sorted(member.scopes))  # nosec B106
    # Servers leave the white space around values, which HTTP says does not count.
    headers = [(name, value.strip()) for name, value in scope["headers"]]
    return {**scope, "headers": headers, _MEMBER: member, "user": AuthenticatedUser(token)}


def member_of(context: Context) -> Member:
    """The member who sent a request, whose tenant's rows alone the handler sees from here on.

    Raises `LookupError` if it did not come through our own door.
    """
    if context.request is None:
        raise LookupError("the request has no scope")
    member: Member = context.request.scope[_MEMBER]
    set_tenants(member.tenant_id)
    return member


def principal(member: Member) -> str:
    """Names a member together with the key that speaks for them."""
    return f"{member.tenant_id}:{member.user_id}:{member.key_id}"
