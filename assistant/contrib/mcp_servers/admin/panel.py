"""What the pages of the control panel show of external MCP servers."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, F, Min, Q, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.visible_tenants import administered, is_operator
from assistant.contrib.mcp_servers.admin import servers  # noqa: F401 - it registers
from assistant.contrib.mcp_servers.models import McpCredential, McpServer, McpTool
from assistant.contrib.mcp_servers.services.health_checks import LIST_JOB
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.admin.tenants.member_sections import add_member_section
from assistant.contrib.panel.reports.needs import Item, items_of, look_for, unreadable_items
from assistant.contrib.panel.reports.search import MAX_HITS, Hit, find_more_tools
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.mcp_client.remote_tool import SEPARATOR, prefixed
from assistant.models import Membership

CHANGED = "mcptool"
UNREADABLE = "unreadable-mcpserver"
_LIST = "assistant_mcp_servers_mcpserver_changelist"
_PAGE = "assistant_mcp_servers_mcpserver_change"


def changed_tools(tenants: TenantFilter) -> list[Item]:
    """Return the tools that are off because their servers have changed them."""
    allowed = tenants.rows(
        McpTool.objects.filter(is_allowed=True, is_listed=True, server__is_active=True), "server__tenant"
    )
    changed = allowed.exclude(accepted_digest=F("digest")).order_by("server__tenant", "server", "name")
    return items_of(changed, "name", "server__tenant__name", "server")


def unreadable_servers(tenants: TenantFilter) -> list[Item]:
    """Return the servers with credentials that cannot be decrypted."""
    return unreadable_items(McpServer, "name", tenants)


def tools_called(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    """Find tools by a part of their name as assistants call them."""
    named = McpTool.objects.annotate(full_name=Concat("server__prefix", Value(SEPARATOR), "name"))
    matching = tenants.rows(named.filter(full_name__icontains=text), "server__tenant").order_by()
    has_page = Q(is_listed=True) | Q(is_allowed=True), Q(server__is_active=True)
    rows = matching.values_list("server__prefix", "name").annotate(
        tenants=Count("server__tenant", distinct=True),
        tenant=Min("server__tenant__name"),
        pages=Count("pk", filter=Q(*has_page)),
    )
    for prefix, name, count, tenant, pages in rows.order_by("server__prefix", "name")[: MAX_HITS + 1]:
        full = prefixed(prefix, name)
        where = tenant if count == 1 else ngettext("%(n)d tenant", "%(n)d tenants", count) % {"n": count}
        yield Hit("tool", full if pages else "", full, where)


def _member_section(request: HttpRequest, member: Membership) -> SafeString | str:
    """Return the servers for which a member needs credentials of their own, and whether they have any."""
    if not is_operator(request) and member.tenant_id not in administered(request):
        return ""
    own = McpServer.objects.filter(tenant=member.tenant_id, credentials_of=McpServer.CredentialOwner.USER)
    rows = list(own.order_by("name").values_list("pk", "name", "is_active"))
    stored = McpCredential.objects.filter(server__tenant=member.tenant_id, user=member.user_id)
    credentials = dict(stored.values_list("server_id", "pk"))
    connections = [(pk, name, is_active, credentials.get(pk)) for pk, name, is_active in rows]
    if not connections:
        return ""
    context = {"connections": connections}
    return render_to_string("admin/assistant/mcp_servers/member_section.html", context, request)


add_member_section(_member_section)
show_in_room("settings", McpServer, after="provider")
show_in_room("settings", McpCredential, after="mcpserver")
describe_empty_list("mcpserver", gettext_lazy("There are no external servers. Add one to give assistants its tools."))
describe_job(LIST_JOB, gettext_lazy("List an MCP server's tools"))
find_more_tools(tools_called)
look_for(CHANGED, changed_tools, after="limit")
describe_need(
    CHANGED,
    sentence=lambda n: ngettext(
        "%(n)s tool of an MCP server has changed and is off",
        "%(n)s tools of MCP servers have changed and are off",
        n,
    ),
    every=_LIST,
    page=_PAGE,
)
look_for(UNREADABLE, unreadable_servers, after="unreadable-provider")
describe_need(
    UNREADABLE,
    sentence=lambda n: ngettext(
        "%(n)s MCP server has credentials that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
        "%(n)s MCP servers have credentials that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
        n,
    ),
    every=_LIST,
    page=_PAGE,
)
