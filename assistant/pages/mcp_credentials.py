"""A member's page of their own credentials for outside MCP servers."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from assistant.models import McpServer
from assistant.pages.chat import Visit, for_members
from assistant.services.mcp_servers.health_checks import examine
from assistant.services.mcp_servers.member_credentials import (
    CredentialInput,
    StoredCredentials,
    delete_own_credentials,
    own_connections,
    restore_own_credentials,
    set_own_credentials,
)


@require_safe
@for_members
def connections(visit: Visit) -> HttpResponse:
    """The servers that ask for the member's own credentials, and whether they have stored some; never which."""
    context = {"tenant": visit.member.tenant, "connections": own_connections(member=visit.member)}
    return render(visit.request, "assistant/chat/connections.html", context)


@sensitive_post_parameters()
@require_POST
@for_members
def connect(visit: Visit, server: int) -> HttpResponse:
    """Store what was entered for a server, and try it."""
    given = visit.request.POST
    entry = CredentialInput(
        token=given.get("token", "").strip(),
        headers=given.get("headers", "").strip(),
        client_id=given.get("client_id", "").strip(),
        client_secret=given.get("client_secret", "").strip(),
    )
    try:
        before = set_own_credentials(
            actor=visit.request.user, member=visit.member, server_id=server, host=given.get("host", ""), entry=entry
        )
    except McpServer.DoesNotExist:
        raise Http404 from None
    except ValueError as exc:
        messages.error(visit.request, f"Nothing was stored. {exc}")
    else:
        _try(visit, server, before)
    return redirect("assistant:connections", tenant=visit.member.tenant.slug)


def _try(visit: Visit, server: int, before: StoredCredentials | None) -> None:
    """Try what was stored; if the server refuses it, what was stored `before` is so again."""
    member = visit.member
    found = async_to_sync(examine)(
        tenant_id=member.tenant_id, server_id=server, user_id=member.user_id, by_operator=False
    )
    if found.is_healthy:
        messages.success(visit.request, f"Stored. {found.sentence}")
    elif found.is_refused and before is not None:
        restore_own_credentials(actor=visit.request.user, member=member, server_id=server, before=before)
        messages.warning(visit.request, "Not stored: the server did not accept them. What you had stored stays.")
    elif found.is_refused:
        messages.warning(visit.request, "Stored, but it does not work yet. The outside server did not accept them.")
    else:
        messages.warning(visit.request, f"Stored, but it does not work yet. {found.sentence}")


@require_POST
@for_members
def disconnect(visit: Visit, server: int) -> HttpResponse:
    """Delete what the member has stored for a server."""
    try:
        delete_own_credentials(actor=visit.request.user, member=visit.member, server_id=server)
    except McpServer.DoesNotExist:
        raise Http404 from None
    messages.success(visit.request, "Deleted.")
    return redirect("assistant:connections", tenant=visit.member.tenant.slug)
