"""Stores and deletes members' own credentials for external MCP servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.contrib.mcp_servers.own_servers import own_servers
from assistant.contrib.mcp_servers.services.circuit_breaker import INITIAL_COLUMNS
from assistant.contrib.mcp_servers.services.servers import read_headers
from assistant.models import Membership
from assistant.services.tenancy import audit_trail, change_notices
from assistant.services.tenancy.members import Member
from assistant.toolkit.text import stripped

MAX_SECRET = 4_000


@dataclass(frozen=True, slots=True)
class OwnConnection:
    """A server for which each member has their own credentials, as one member sees it.

    `host` is where the credentials are sent; `issuer` is the host of the authorization server, or "".
    """

    server_id: int
    name: str
    host: str
    issuer: str
    is_stored: bool


@dataclass(frozen=True, slots=True)
class CredentialInput:
    """Credentials that a member enters: a token, headers, or a client of the authorization server.

    What copying adds around them is removed.
    """

    token: str = ""
    headers: str = ""
    client_id: str = ""
    client_secret: str = ""

    def __post_init__(self) -> None:
        for name in ("token", "client_id", "client_secret"):
            object.__setattr__(self, name, stripped(getattr(self, name)))


def own_connections(*, member: Member) -> list[OwnConnection]:
    """Return the servers of the member's tenant that need members' own credentials, by name."""
    mine = McpCredential.objects.of_member(member.user_id).filter(server=OuterRef("pk"))
    rows = own_servers(member=member).annotate(is_stored=Exists(mine)).order_by("name")
    return [
        OwnConnection(pk, name, _host(url), _host(issuer), is_stored)
        for pk, name, url, issuer, is_stored in rows.values_list("pk", "name", "url", "oauth_issuer", "is_stored")
    ]


# Values of `_COLUMNS` by column.
StoredCredentials = Mapping[str, str]
_COLUMNS = ("headers", "oauth_client_id", "oauth_client_secret")


@transaction.atomic
def set_own_credentials(
    *, actor: audit_trail.Actor, member: Member, server_id: int, host: str, entry: CredentialInput
) -> StoredCredentials | None:
    """Store a member's credentials for a server; return those they replace, or None.

    Args:
        actor: the member's user, for the audit trail.
        host: the host that the form showed to the member.

    Raises:
        McpServer.DoesNotExist: the member's tenant has no such server.
        ValueError: the credentials are not valid; the message does not repeat them.
    """
    server = own_servers(member=member).select_for_update().defer("headers", "oauth_client_secret").get(pk=server_id)
    if host != _host(server.url):
        raise ValueError(_("The server's address has changed meanwhile. Look at it, and enter your credentials again."))
    own = McpCredential.objects.filter(server=server, user_id=member.user_id).first()
    before = None if own is None else {name: getattr(own, name) for name in _COLUMNS}
    McpCredential.objects.update_or_create(
        server=server,
        user_id=member.user_id,
        defaults={
            "headers": _headers(entry),
            "oauth_client_id": entry.client_id if server.oauth_issuer else "",
            "oauth_client_secret": entry.client_secret if server.oauth_issuer else "",
            **INITIAL_COLUMNS,
        },
    )
    _record(actor, server, "mcpcredential.set")
    return before


@transaction.atomic
def restore_own_credentials(
    *, actor: audit_trail.Actor, member: Member, server_id: int, before: StoredCredentials
) -> None:
    """Restore the credentials that `set_own_credentials` replaced. Raises `McpServer.DoesNotExist`."""
    server = own_servers(member=member).defer("headers", "oauth_client_secret").get(pk=server_id)
    own = McpCredential.objects.filter(server=server, server__tenant_id=member.tenant_id, user_id=member.user_id)
    own.update(**before, **INITIAL_COLUMNS)
    _record(actor, server, "mcpcredential.restore")


@transaction.atomic
def delete_own_credentials(*, actor: audit_trail.Actor, member: Member, server_id: int) -> None:
    """Delete a member's credentials for a server. Raises `McpServer.DoesNotExist`."""
    server = own_servers(member=member).defer("headers", "oauth_client_secret").get(pk=server_id)
    McpCredential.objects.filter(server=server, user_id=member.user_id).delete()
    _record(actor, server, "mcpcredential.delete")


def delete_credentials(*, actor: audit_trail.Actor, memberships: QuerySet[Membership]) -> None:
    """Delete these members' credentials for their tenants' servers, with an audit entry for each."""
    rows = McpCredential.objects.filter(
        Exists(memberships.filter(tenant_id=OuterRef("server__tenant_id"), user_id=OuterRef("user_id")))
    )
    for row in rows.defer("headers", "oauth_client_secret").select_related("server__tenant", "user"):
        audit_trail.record(
            actor=actor,
            action="mcpcredential.delete",
            target=str(row),
            tenant=row.server.tenant,
            details={"why": "the membership ended"},
        )
        row.delete()


def _headers(entry: CredentialInput) -> str:
    if max(len(entry.token), len(entry.client_id), len(entry.client_secret), len(entry.headers)) > MAX_SECRET:
        raise ValueError(_("This is too long to be a credential."))
    if bool(entry.client_id) != bool(entry.client_secret):
        raise ValueError(_("Give both the client id and the client secret."))
    if not (entry.token or entry.headers or entry.client_id):
        raise ValueError(_("Enter a token, or whatever else the server asks for."))
    headers = read_headers(entry.headers)
    if entry.token:
        if any(name.lower() == "authorization" for name in headers):
            raise ValueError(_("Give either a token or a header Authorization."))
        headers = read_headers(json.dumps({**headers, "Authorization": f"Bearer {entry.token}"}))
    return json.dumps(headers) if headers else ""


def _record(actor: audit_trail.Actor, server: McpServer, action: str) -> None:
    audit_trail.record(actor=actor, action=action, target=str(server), tenant=server.tenant)
    change_notices.notify()


def _host(url: str) -> str:
    return urlsplit(url).netloc
