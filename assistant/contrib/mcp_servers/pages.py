"""The page where members enter their own credentials for MCP servers."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.mcp_servers.services.health_checks import examine
from assistant.contrib.mcp_servers.services.member_credentials import (
    CredentialInput,
    StoredCredentials,
    delete_own_credentials,
    own_connections,
    restore_own_credentials,
    set_own_credentials,
)
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.shell import render_in_shell

NOT_YET = gettext_noop("Stored, but it does not work yet.")


@require_safe
@for_members
def connections(page: MemberRequest) -> HttpResponse:
    """List the servers that need a member's own credentials, and whether any are stored, without showing them."""
    context = {"connections": own_connections(member=page.member)}
    return render_in_shell(page, "assistant/mcp_servers/connections.html", context)


@sensitive_post_parameters()
@require_POST
@for_members
def connect(page: MemberRequest, server: int) -> HttpResponse:
    """Store credentials for a server, and test them."""
    given = page.request.POST
    entry = CredentialInput(
        token=given.get("token", "").strip(),
        headers=given.get("headers", "").strip(),
        client_id=given.get("client_id", "").strip(),
        client_secret=given.get("client_secret", "").strip(),
    )
    try:
        before = set_own_credentials(
            actor=page.request.user, member=page.member, server_id=server, host=given.get("host", ""), entry=entry
        )
    except McpServer.DoesNotExist:
        raise Http404 from None
    except ValueError as exc:
        messages.error(page.request, " ".join((_("Nothing was stored."), str(exc))))
    else:
        _try(page, server, before)
    return redirect("assistant:connections", tenant=page.member.tenant.slug)


def _try(page: MemberRequest, server: int, before: StoredCredentials | None) -> None:
    """Test the stored credentials. If the server rejects them, restore the earlier ones."""
    member = page.member
    found = async_to_sync(examine)(
        tenant_id=member.tenant_id, server_id=server, user_id=member.user_id, by_operator=False
    )
    if found.is_healthy:
        messages.success(page.request, " ".join((_("Stored."), found.sentence)))
    elif found.is_refused and before is not None:
        restore_own_credentials(actor=page.request.user, member=member, server_id=server, before=before)
        messages.warning(
            page.request, _("Not stored: the server did not accept them. Your earlier credentials are kept.")
        )
    elif found.is_refused:
        messages.warning(page.request, " ".join((_(NOT_YET), _("The external server did not accept them."))))
    else:
        messages.warning(page.request, " ".join((_(NOT_YET), found.sentence)))


@require_POST
@for_members
def disconnect(page: MemberRequest, server: int) -> HttpResponse:
    """Delete the member's credentials for a server."""
    try:
        delete_own_credentials(actor=page.request.user, member=page.member, server_id=server)
    except McpServer.DoesNotExist:
        raise Http404 from None
    messages.success(page.request, _("Deleted."))
    return redirect("assistant:connections", tenant=page.member.tenant.slug)
