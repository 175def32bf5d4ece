"""External MCP servers in bundles: new ones are switched off, and none gets credentials or tools that are allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field, StringConstraints

from assistant.contrib.bundles.services.difference import Entry, kind_of
from assistant.contrib.bundles.services.format import Part, Text
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put, refused
from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.contrib.mcp_servers.services.circuit_breaker import INITIAL_COLUMNS
from assistant.contrib.mcp_servers.services.servers import PREFIX
from assistant.mcp_client.shared_context import CONTEXT_KEYS
from assistant.models import Assistant, Tenant
from assistant.models.fields import is_stored
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.url_guard import UnsafeUrl

_ADDRESS = ("url", "command", "oauth_issuer")
MAX_SERVERS = 100


class ServerPart(Part):
    """An external MCP server, without its credentials and without the decisions on its tools."""

    name: Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]{1,40}$")]
    prefix: Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]{1,24}$")]
    url: Text
    command: Annotated[str, StringConstraints(max_length=60)]
    credentials_of: Literal["tenant", "user"]
    oauth_client_id: Annotated[str, StringConstraints(max_length=200)]
    oauth_issuer: Text
    oauth_scope: Text
    context_keys: Annotated[list[str], Field(max_length=50)]
    timeout_seconds: Annotated[int, Field(ge=1, le=240)]
    asks_people: bool = False


def exported_servers(tenant: Tenant, assistant: Assistant | None) -> list[ServerPart]:
    """Return a tenant's servers without what may be secret, as the query of an address; of one assistant nothing."""
    if assistant is not None:
        return []
    rows = McpServer.objects.filter(tenant=tenant).defer("headers", "oauth_client_secret").order_by("name")
    return [_server_part(row) for row in rows]


def _server_part(row: McpServer) -> ServerPart:
    values = {name: getattr(row, name) for name in ServerPart.model_fields}
    return ServerPart(**values | {"url": bare_url(row.url), "oauth_issuer": bare_url(row.oauth_issuer)})


def bare_url(url: str) -> str:
    """Return an address without user, query and fragment, where some servers expect a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def import_servers(target: Target, parts: Sequence[ServerPart], is_whole: bool) -> Iterator[Entry]:
    """Create and change MCP servers. `is_whole`: the bundle is a tenant's, so that other servers are only here."""
    stored = {row.name: row for row in _stored(target)}
    for part in parts:
        yield from _import_server(target, part, stored.get(part.name))
    if is_whole:
        named = {part.name for part in parts}
        yield from (Entry("kept", "mcp_server", name) for name in stored if name not in named)


def _stored(target: Target) -> Any:
    members = McpCredential.objects.filter(server=OuterRef("pk"), server__tenant=target.tenant)
    rows = McpServer.objects.filter(tenant=target.tenant).defer("headers", "oauth_client_secret")
    return rows.annotate(
        headers_are_stored=is_stored("headers"),
        secret_is_stored=is_stored("oauth_client_secret"),
        members_have_credentials=Exists(members),
    ).order_by("name")


def _import_server(target: Target, part: ServerPart, stored: Any) -> Iterator[Entry]:
    values = part.model_dump(exclude={"name"})
    row = stored or McpServer(tenant=target.tenant, name=part.name)
    for name in ("url", "oauth_issuer"):
        # The export leaves out the query of an address, where some servers expect a key.
        if stored is not None and values[name] and bare_url(getattr(row, name)) == values[name]:
            values[name] = getattr(row, name)
    is_moved = stored is not None and any(getattr(row, name) != values[name] for name in _ADDRESS)
    try:
        _check(part)
        if is_moved and _has_secrets(row):
            # Otherwise a bundle could have the stored credentials sent to a server of its author's.
            raise ValidationError(_("Its address changes, and credentials are stored for the old one."))
        if is_moved or stored is None:
            values["is_active"] = False
        changes = put(row, values)
    except ValidationError as exc:
        yield refused("mcp_server", part.name, exc)
        return
    if changes:
        for name, value in INITIAL_COLUMNS.items():
            setattr(row, name, value)
        # The secrets of a stored row were not read, and stay as they are.
        row.save(update_fields=None if stored is None else [*(one.name for one in changes), *INITIAL_COLUMNS])
    yield Entry(kind_of(changes, is_new=stored is None), "mcp_server", part.name, changes)
    if stored is None:
        reason = _(
            "It is switched off: enter its credentials, list its tools, allow those that are wanted, and switch it on."
        )
        yield Entry("by_hand", "mcp_server", part.name, reason=reason)


def _has_secrets(row: Any) -> bool:
    return bool(row.headers_are_stored or row.secret_is_stored or row.members_have_credentials)


def _check(part: ServerPart) -> None:
    """Check what the form of a server checks. Raises `ValidationError`."""
    if not PREFIX.fullmatch(part.prefix):
        raise ValidationError(_("Its prefix has lower-case letters and digits only, and does not begin with ask_."))
    if bool(part.url) == bool(part.command):
        raise ValidationError(_("It has neither a URL nor a command, or both."))
    if part.command and part.command not in settings.ASSISTANT_MCP_STDIO_COMMANDS:
        raise ValidationError(_("This deployment has no command of this name (ASSISTANT_MCP_STDIO_COMMANDS)."))
    if unknown := sorted(set(part.context_keys) - set(CONTEXT_KEYS)):
        raise ValidationError(_("Nothing of a call is called %(names)s.") % {"names": ", ".join(unknown)[:100]})
    if part.oauth_client_id and not part.oauth_issuer:
        raise ValidationError(_("The authorization server of its OAuth client is missing."))
    for url in (part.url, part.oauth_issuer):
        if url:
            try:
                tenant_guard().check(url)
            except UnsafeUrl as exc:
                raise ValidationError(str(exc)) from exc


PARTS = (
    AddedPart(
        key="mcp_servers",
        section="mcp_server",
        title=gettext_lazy("MCP server"),
        model=McpServer,
        entry=ServerPart,
        most=MAX_SERVERS,
        name_of=lambda part: str(part.name),
        assistant_of=lambda part: None,
        export=exported_servers,
        take=import_servers,
        gives_tools=True,
        other_name_of=lambda part: str(part.prefix),
    ),
)
