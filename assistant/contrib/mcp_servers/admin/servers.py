"""The pages of external MCP servers: addresses, credentials, connection tests and decisions on their tools."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from assistant.admin.base.filters import TENANT, TenantFilter
from assistant.admin.base.links import username
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin, TenantScopedInline
from assistant.contrib.mcp_servers.admin.forms import CredentialForm, ServerForm, ToolForm, ToolFormSet
from assistant.contrib.mcp_servers.models import McpCredential, McpServer, McpTool
from assistant.contrib.mcp_servers.services.health_checks import examine
from assistant.contrib.mcp_servers.services.provider_notes import provider_notes
from assistant.contrib.mcp_servers.services.tool_listings import change_of, decide_tool, is_quarantined
from assistant.models.fields import is_stored
from assistant.services.tenancy import change_notices

SECRETS = ("headers", "oauth_client_secret")
_STORED = {"headers_are_stored": _("Headers"), "secret_is_stored": _("OAuth client secret")}  # nosec B105
_KINDS = {"+++": "place", "---": "place", "@@ ": "place", "+  ": "added", "-  ": "removed"}
_LONG = re.compile(r"(?<=.{200}).+", re.DOTALL)


class ToolInline(TenantScopedInline):
    """The tools that the server lists; ticking one lets it in with the definition shown."""

    model = McpTool
    form = ToolForm
    formset = ToolFormSet
    possible_actions = frozenset({"view", "change"})
    fields = ("model_text", "approval_status", "is_allowed", "needs_approval", "accepts_change")
    readonly_fields = ("model_text", "approval_status")
    verbose_name_plural = _("tools (new ones are not allowed)")

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpTool]:
        """Put changed tools, which need a decision, first."""
        has_changed = Case(When(Q(is_allowed=True) & ~Q(accepted_digest=F("digest")), then=Value(0)), default=Value(1))
        rows: QuerySet[McpTool] = super().get_queryset(request).order_by(has_changed, "name")
        return rows

    @admin.display(description=_("tool"))
    def model_text(self, row: McpTool) -> SafeString:
        """Return the tool's shortened description and its whole definition, any part of which can instruct a model."""
        return format_html(
            '<strong>{}</strong><br>{}<details><summary>{}</summary><pre class="difference">{}</pre></details>{}',
            row.name,
            _LONG.sub("…", str(row.definition.get("description", ""))),
            gettext("All that a model reads"),
            json.dumps(row.definition, indent=2, ensure_ascii=False),
            format_html_join("", '<p class="help">{}</p>', ((note,) for note in provider_notes(row))),
        )

    @admin.display(description=_("state"))
    def approval_status(self, row: McpTool) -> SafeString | str:
        if is_quarantined(row):
            lines = ((_KINDS.get(line[:3], "same"), line) for line in change_of(row).splitlines())
            return format_html(
                '<p>{}</p><pre class="difference">{}</pre>',
                gettext("Changed since it was allowed, and off until the change is accepted:"),
                format_html_join("", '<span class="{}">{}</span>', lines),
            )
        if not row.is_listed:
            return gettext("No longer listed.")
        return gettext("Allowed as it is.") if row.is_allowed else gettext("Not allowed.")


def _without_secrets(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Add whether the secrets are stored, and do not read them: their key may be lost."""
    flags = {name: is_stored(field) for name, field in zip(_STORED, SECRETS, strict=True)}
    found: QuerySet[Any] = rows.defer(*SECRETS).annotate(**flags)
    return found


def _stored(row: McpServer | McpCredential) -> str:
    """Return which secrets are stored, without their values."""
    kept = [str(label) for name, label in _STORED.items() if getattr(row, name, False)]
    return ", ".join(kept) or gettext("Nothing.")


@admin.register(McpServer)
class McpServerAdmin(TenantScopedAdmin):
    """A tenant's external MCP servers, with a button that lists a server's tools."""

    class Media:
        css = {"all": ("assistant/mcp_servers/tools.css",)}

    form = ServerForm
    change_form_template = "admin/assistant/mcp_servers/change_form.html"
    list_display = ("name", "tenant", "is_active", "health", "allowed_tools", "address", "checked_at")
    list_filter = (TENANT, "is_active", "health")
    search_fields = ("name", "url", "command")
    list_select_related = ("tenant",)
    readonly_fields = ("condition", "unusable", "stored")
    inlines = (ToolInline,)
    fieldsets = (
        (None, {"fields": ("tenant", "name", "prefix", "is_active", "condition", "unusable")}),
        (_("Address"), {"fields": ("url", "command", "timeout_seconds")}),
        (
            _("Credentials"),
            {
                "fields": (
                    "credentials_of",
                    "stored",
                    "new_headers",
                    "oauth_issuer",
                    "oauth_client_id",
                    "new_oauth_client_secret",
                    "oauth_scope",
                    "clear_secrets",
                )
            },
        ),
        (_("What it receives of a call"), {"fields": ("context_keys", "asks_people")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpServer]:
        return _without_secrets(super().get_queryset(request).prefetch_related("tools"))

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return self.inlines if obj is not None else ()

    @admin.display(description=_("address"))
    def address(self, server: McpServer) -> str:
        return urlsplit(server.url).netloc or gettext("command %(name)s") % {"name": server.command}

    @admin.display(description=_("tools allowed"))
    def allowed_tools(self, server: McpServer) -> str:
        rows = list(server.tools.all())
        quarantined = sum(is_quarantined(row) for row in rows)
        numbers = {"allowed": sum(row.is_allowed for row in rows), "all": len(rows), "changed": quarantined}
        if quarantined:
            return gettext("%(allowed)d of %(all)d, %(changed)d changed") % numbers
        return gettext("%(allowed)d of %(all)d") % numbers

    @admin.display(description=_("stored"))
    def stored(self, server: McpServer) -> str:
        return _stored(server)

    @admin.display(description=_("health"))
    def condition(self, server: McpServer) -> str:
        if not server.pk or server.checked_at is None:
            return gettext("Not checked yet. Save it, then press the button above.")
        found = {"health": server.get_health_display(), "time": f"{server.checked_at:%Y-%m-%d %H:%M:%S}"}
        text = gettext("%(health)s, checked at %(time)s UTC.") % found
        return f"{text} {server.health_detail}".strip()

    @admin.display(description=_("cannot be used"))
    def unusable(self, server: McpServer) -> SafeString | str:
        """Return what the server lists and cannot be used, with the reasons."""
        if not server.left_out:
            return gettext("Nothing that it lists.")
        return format_html(
            "<ul>{}</ul>",
            format_html_join("", "<li><strong>{}</strong> {}</li>", (tuple(one) for one in server.left_out)),
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.put_secrets(obj)
        super().save_model(request, obj, form, change)
        change_notices.notify()

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        change_notices.notify()

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save decisions on tools through the service that validates and audits them."""
        if formset.model is not McpTool:
            super().save_formset(request, form, formset, change)
            return
        formset.save(commit=False)
        for row, _changed in formset.changed_objects:
            self._decide(request, form.instance, next(one for one in formset.forms if one.instance is row))

    def _decide(self, request: HttpRequest, server: McpServer, form: Any) -> None:
        given = form.cleaned_data
        try:
            decide_tool(
                actor=request.user,
                tenant_id=server.tenant_id,
                tool_id=form.instance.pk,
                is_allowed=given["is_allowed"],
                needs_approval=given["needs_approval"],
                accepts=form.accepted,
            )
        except ValueError as exc:
            request._decision_failed = True  # type: ignore[attr-defined]
            self.message_user(request, gettext("A tool stays as it was: %(why)s") % {"why": exc}, messages.ERROR)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Return to the page, without Django's success message, if a decision was rejected."""
        if getattr(request, "_decision_failed", False):
            return HttpResponseRedirect(request.path)
        return super().response_change(request, obj)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.try_view))
        return [path("<path:object_id>/try/", view, name="assistant_mcp_servers_mcpserver_try"), *super().get_urls()]

    def try_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Connect to the server, active or not, and list its tools."""
        server = self.row_or_404(request, object_id, self.has_change_permission)
        found = async_to_sync(examine)(tenant_id=server.tenant_id, server_id=server.pk, user_id=request.user.pk or 0)
        self.message_user(request, found.full_sentence, messages.SUCCESS if found.is_healthy else messages.ERROR)
        return HttpResponseRedirect(reverse("admin:assistant_mcp_servers_mcpserver_change", args=[server.pk]))


@admin.register(McpCredential)
class McpCredentialAdmin(TenantScopedAdmin):
    """A member's credentials for a server whose members each use their own."""

    form = CredentialForm
    tenant_path = "server__tenant"
    list_display = ("server", "member", "tenant")
    list_filter = (("server__tenant", TenantFilter),)
    search_fields = ("server__name", username("user"))
    list_select_related = ("server__tenant", "user")
    fields = ("server", "user", "stored", "new_headers", "oauth_client_id", "new_oauth_client_secret", "clear_secrets")
    readonly_fields = ("stored",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpCredential]:
        return _without_secrets(super().get_queryset(request)).defer(*(f"server__{name}" for name in SECRETS))

    @admin.display(description=_("tenant"))
    def tenant(self, row: McpCredential) -> str:
        return row.server.tenant.name

    @admin.display(description=_("stored"))
    def stored(self, row: McpCredential) -> str:
        return _stored(row)

    @admin.display(description=_("member"))
    def member(self, row: McpCredential) -> str:
        return str(row.user)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.put_secrets(obj)
        super().save_model(request, obj, form, change)
