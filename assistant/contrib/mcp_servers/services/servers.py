"""Connections to tenants' external MCP servers: address, credentials, and the context that a server receives."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.translation import gettext as _

from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.mcp_client import Command, Endpoint, OAuthClient, RemoteFailure
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.context import UserId
from assistant.toolkit.text import trimmed

# Prefixes of tools' names. Names of assistants as tools begin with `ask_`.
PREFIX = re.compile(r"(?!ask_|ask$)[a-z0-9]+([_-][a-z0-9]+)*", re.ASCII)
# Headers of the protocol, and those that determine where a message ends.
_RESERVED = re.compile(
    r"host|connection|content-.*|transfer-encoding|accept|accept-encoding|te|upgrade|expect|mcp-.*|last-event-id", re.I
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
_PRINTABLE = re.compile(r"[\x20-\x7e]{0,4000}")


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything that a call needs from the database to reach a server.

    `key` identifies the session: the server, the user, and a fingerprint of address and credentials. `credential_id` is
    the row of the member's own credentials, or None if all members share the server's. `asks_people`: whether the
    server may ask people during a call.
    """

    server_id: int
    tenant_id: int
    key: Hashable
    endpoint: Endpoint = field(repr=False)
    context_keys: tuple[str, ...] = ()
    credential_id: int | None = None
    name: str = ""
    asks_people: bool = False

    @property
    def is_shared(self) -> bool:
        return self.credential_id is None


def connection_of(*, tenant_id: int, server_id: int, user_id: UserId, include_inactive: bool = False) -> Connection:
    """Return the connection of a user to a server of their tenant.

    Args:
        include_inactive: whether to return connections to inactive servers, to examine them.

    Raises:
        RemoteFailure: the tenant has no such server (`gone`), the user has no credentials for it (`unauthorized`), or
            its settings are not valid (`unreachable`).
    """
    rows = McpServer.objects.filter(pk=server_id, tenant_id=tenant_id, tenant__is_active=True)
    server = rows.first() if include_inactive else rows.filter(is_active=True).first()
    if server is None:
        raise RemoteFailure("gone", "there is no such active server")
    is_shared = server.credentials_of == McpServer.CredentialOwner.TENANT
    own = None
    if not is_shared:
        own = McpCredential.objects.of_member(user_id).filter(server_id=server_id, server__tenant_id=tenant_id).first()
        if own is None:
            raise RemoteFailure("unauthorized", "this member has no credentials")
    credentials = own or server
    try:
        endpoint = _endpoint(server, credentials)
    except ValueError as exc:
        raise RemoteFailure("unreachable", str(exc)) from exc
    return Connection(
        server_id=server_id,
        tenant_id=tenant_id,
        key=(tenant_id, server_id, user_id, _fingerprint(server, credentials), server.asks_people),
        endpoint=endpoint,
        context_keys=tuple(server.context_keys),
        credential_id=own.pk if own is not None else None,
        name=server.name,
        asks_people=server.asks_people,
    )


def _endpoint(server: McpServer, credentials: McpServer | McpCredential) -> Endpoint:
    if server.command:
        return Endpoint(command=command_named(server.command))
    oauth = None
    if credentials.oauth_client_id:
        oauth = OAuthClient(
            client_id=credentials.oauth_client_id,
            client_secret=credentials.oauth_client_secret,
            issuer=server.oauth_issuer,
            scope=server.oauth_scope,
        )
    return Endpoint(url=server.url, headers=read_headers(credentials.headers), oauth=oauth, guard=tenant_guard())


def _fingerprint(server: McpServer, credentials: McpServer | McpCredential) -> str:
    parts = [server.url, server.command, server.oauth_issuer, server.oauth_scope, credentials.headers]
    parts += [credentials.oauth_client_id, credentials.oauth_client_secret]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def command_named(name: str) -> Command:
    """Return a program listed in ASSISTANT_MCP_STDIO_COMMANDS. Raises `ValueError` if there is none of that name."""
    words = settings.ASSISTANT_MCP_STDIO_COMMANDS.get(name)
    if not words:
        raise ValueError(f"The deployment lists no command {name!r} in ASSISTANT_MCP_STDIO_COMMANDS.")
    return Command(words[0], tuple(words[1:]))


def read_headers(text: str) -> dict[str, str]:
    """Parse and check headers in JSON, without the white space around them that copying adds.

    Raises:
        ValueError: they cannot be sent; the message repeats no value.
    """
    try:
        found = load_json(text) if text else {}
    except ValueError:
        raise ValueError(_("The headers are not JSON.")) from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError(_("The headers must be a JSON object of strings."))
    found = {trimmed(name): trimmed(value) for name, value in found.items()}
    for name, value in found.items():
        if not _HEADER.fullmatch(name) or _RESERVED.fullmatch(name):
            raise ValueError(_("A header cannot be called '%(name)s'.") % {"name": name[:100]})
        if not _PRINTABLE.fullmatch(value):
            raise ValueError(_("The header %(name)s holds characters that no header can.") % {"name": name})
    return found
