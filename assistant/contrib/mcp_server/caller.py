"""Passes the authenticated member through the MCP SDK to the handlers, in the ASGI scope."""

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
    """Return the ASGI scope with the member in it. The SDK uses its `user` to check who may use a session."""
    token = AccessToken(token="", client_id=principal(member), scopes=sorted(member.scopes))  # nosec B106
    # Servers do not strip header values, although surrounding white space has no meaning in HTTP.
    headers = [(name, value.strip()) for name, value in scope["headers"]]
    return {**scope, "headers": headers, _MEMBER: member, "user": AuthenticatedUser(token)}


def member_of(context: Context) -> Member:
    """Return the member who sent a request, and set the tenant scope: the handler then sees only that tenant's rows.

    Raises:
        LookupError: the request did not come through `with_member`.
    """
    if context.request is None:
        raise LookupError("the request has no scope")
    member: Member = context.request.scope[_MEMBER]
    set_tenants(member.tenant_id)
    return member


def principal(member: Member) -> str:
    """Return an id for the member and the API key that they use."""
    return f"{member.tenant_id}:{member.user_id}:{member.key_id}"
