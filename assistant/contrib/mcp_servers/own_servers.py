"""Which servers want credentials of each member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import QuerySet

from assistant.contrib.mcp_servers.models import McpServer

if TYPE_CHECKING:
    from assistant.services.tenancy.members import Member


def own_servers(*, member: Member) -> QuerySet[McpServer]:
    """Return the servers of the member's tenant that need members' own credentials."""
    return McpServer.objects.filter(
        tenant_id=member.tenant_id,
        tenant__is_active=True,
        is_active=True,
        credentials_of=McpServer.CredentialOwner.USER,
    ).exclude(url="")


def has_own_servers(*, member: Member) -> bool:
    """Return whether there are any."""
    return own_servers(member=member).exists()
