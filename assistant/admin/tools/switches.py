"""The switchboard of tenants and tools, and the form of a tool's settings."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import BooleanField, Case, Q, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from assistant.admin.base.filters import TENANT, ToolFilter
from assistant.admin.base.secret_fields import SecretTextarea
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.admin.tools.tool_settings_form import CONFIG, config_in, declared_tool, fields_of, secrets_in
from assistant.models import Assistant, Tenant, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switchboard import (
    FOLLOW,
    board_of_assistants,
    board_of_tenants,
    reach_of,
    set_switch,
)
from assistant.services.toolpolicy.tool_settings import read_config, read_secrets
from assistant.toolkit import Tool

TENANTS_ON_A_PAGE = 5
# Fields of every tool setting.
_BASE_FIELDS = ("tenant", "assistant", "tool", "policy")


class SettingForm(TenantForm):
    """Validates settings against the tool's declaration; stored secrets are not loaded.

    `declared` is the tool, if it declares settings or secrets; each of them then has a form field of its own.
    """

    declared: Tool | None = None
    tool = forms.CharField(disabled=True)
    new_secrets = forms.CharField(
        label="Secrets",
        required=False,
        widget=SecretTextarea(),
        help_text='A JSON object such as {"token": "…"}; encrypted at rest, never shown again. '
        "Empty: the stored ones are kept.",
    )
    clear_secrets = forms.BooleanField(label="Delete the stored secrets", required=False)

    class Meta:
        model = ToolSetting
        fields = ("tenant", "assistant", "tool", "policy", "config")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "assistant" in self.fields:
            self.fields["assistant"].disabled = True

    def clean_config(self) -> dict[str, Any]:
        config = self.cleaned_data["config"]
        if not isinstance(config, dict):
            raise forms.ValidationError("Give a JSON object.")
        return config

    def clean_new_secrets(self) -> str:
        text: str = self.cleaned_data["new_secrets"].strip()
        try:
            read_secrets([text])
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from None
        return text

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        declared = self.declared
        if declared is not None:
            cleaned["config"] = self.instance.config if declared.config is None else config_in(declared, cleaned)
        tool, tenant, config = cleaned.get("tool"), cleaned.get("tenant"), cleaned.get("config")
        if isinstance(tool, str) and tool in catalogue.registry() and tenant is not None and config is not None:
            layers = [config]
            if cleaned.get("assistant") is not None:
                of_tenant = ToolSetting.objects.filter(tenant=tenant, assistant=None, tool=tool)
                layers = [*of_tenant.values_list("config", flat=True), config]
            try:
                read_config(catalogue.registry().get(tool), layers)
            except ValueError as exc:
                # The message begins with the path of the invalid setting.
                field = CONFIG + str(exc).partition(":")[0].partition(".")[0]
                self.add_error(field if field in self.fields else "config" if declared is None else None, str(exc))
        return cleaned


@admin.register(ToolSetting)
class ToolSettingAdmin(TenantScopedAdmin):
    """Tool settings of tenants and assistants, and the switchboard."""

    permission = "tools"
    form = SettingForm
    change_list_template = "admin/assistant/toolsetting/change_list.html"
    list_display = ("tool", "tenant", "assistant", "policy", "has_secrets", "updated_at")
    list_filter = (TENANT, "policy", ToolFilter)
    search_fields = ("tool", "tenant__slug", "assistant__slug")
    list_select_related = ("tenant", "assistant")
    fields = (
        "tenant",
        "assistant",
        "tool",
        "policy",
        "config",
        "declared",
        "has_secrets",
        "new_secrets",
        "clear_secrets",
    )
    readonly_fields = ("declared", "has_secrets")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        setting = obj or ToolSetting(tool=_chosen(request))
        declared = declared_tool(setting)
        if declared is None:
            return self.fields if obj is not None else _BASE_FIELDS
        secrets = ("clear_secrets",) if declared.secrets and obj is not None else ()
        return (*_BASE_FIELDS, *fields_of(declared, setting), *secrets)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form with a field for each setting and secret that the tool declares."""
        setting = obj or ToolSetting(tool=_chosen(request))
        declared = declared_tool(setting)
        fields: dict[str, Any] = {"declared": declared, **fields_of(declared, setting)} if declared else {}
        if obj is None:
            fields["tool"] = forms.CharField(disabled=True, initial=setting.tool)
        kwargs["form"] = type("DeclaredForm", (SettingForm,), fields)
        return super().get_form(request, obj, change=change, **kwargs)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show a list of tools first, then the chosen tool's form."""
        if _chosen(request) in catalogue.registry():
            return super().add_view(request, form_url, extra_context)
        if not self.has_add_permission(request):
            raise PermissionDenied
        rest = request.GET.copy()
        rest.pop("tool", None)
        context = {
            **self.admin_site.each_context(request),
            "title": "Add tool setting",
            "opts": self.opts,
            "tools": [_described(tool) for tool in catalogue.registry()],
            "rest": f"&{rest.urlencode()}" if rest else "",
        }
        return TemplateResponse(request, "admin/assistant/toolsetting/choose.html", context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolSetting]:
        stored = Case(When(~Q(secrets=""), then=Value(True)), default=Value(False), output_field=BooleanField())
        rows: QuerySet[ToolSetting] = super().get_queryset(request).defer("secrets").annotate(secrets_are_stored=stored)
        return rows

    @admin.display(description="secrets stored", boolean=True)
    def has_secrets(self, setting: ToolSetting) -> bool:
        return bool(getattr(setting, "secrets_are_stored", False))

    @admin.display(description="declared by the tool")
    def declared(self, setting: ToolSetting) -> str:
        """Return the settings and secrets that the tool declares."""
        if setting.tool not in catalogue.registry():
            return "—"
        tool = catalogue.registry().get(setting.tool)
        properties = tool.config.model_json_schema().get("properties", {}) if tool.config else {}
        lines = [f"{name}: {json.dumps(schema)}" for name, schema in properties.items()]
        lines += [f"secret {name}" for name in tool.secrets]
        return "; ".join(lines) or "No settings."

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        declared = declared_tool(obj)
        if form.cleaned_data.get("clear_secrets"):
            obj.secrets = ""
        elif declared is not None:
            obj.config = form.cleaned_data["config"]
            obj.secrets = secrets_in(declared, obj, form.cleaned_data)
        elif form.cleaned_data.get("new_secrets"):
            obj.secrets = form.cleaned_data["new_secrets"]
        super().save_model(request, obj, form, change)

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("switchboard/", wrap(self.switchboard_view), name="switchboard"),
            path("switchboard/<slug:tenant>/", wrap(self.tenant_view), name="switchboard_of_tenant"),
            *super().get_urls(),
        ]

    def switchboard_view(self, request: HttpRequest) -> HttpResponse:
        """Show tools by tenants; a user with one tenant is redirected to its switchboard."""
        if not is_operator(request) and len(self.allowed_tenants(request)) == 1:
            return HttpResponseRedirect(
                reverse("admin:switchboard_of_tenant", args=[tenants_of(request, self.permission).get().slug])
            )
        if request.method == "POST":
            return self._set_switch(request)
        wanted = request.GET.get("q", "").replace("\x00", "").strip()
        tenants = (
            tenants_of(request, self.permission)
            .filter(Q(slug__icontains=wanted) | Q(name__icontains=wanted))
            .order_by("name")
        )
        page = Paginator(tenants, TENANTS_ON_A_PAGE).get_page(request.GET.get("page"))
        reach = reach_of(tenants=page.object_list)
        columns = [{"tenant": tenant, "reach": reach[tenant.pk]} for tenant in page.object_list]
        rows = board_of_tenants(tenants=page.object_list)
        return self._render(request, "Switchboard", columns=columns, rows=rows, page=page, q=wanted)

    def tenant_view(self, request: HttpRequest, tenant: str) -> HttpResponse:
        """Show tools by one tenant and its assistants."""
        row = tenants_of(request, self.permission).filter(slug=tenant).first()
        if row is None:
            raise Http404("There is no such tenant.")
        if request.method == "POST":
            return self._set_switch(request)
        assistants = list(row.assistants.order_by("slug"))
        columns: list[dict[str, Any]] = [{"tenant": row, "reach": reach_of(tenants=[row])[row.pk], "is_own": True}]
        columns += [{"tenant": row, "assistant": assistant} for assistant in assistants]
        rows = board_of_assistants(tenant=row, assistants=assistants)
        return self._render(request, f"Switchboard of {row.name}", columns=columns, rows=rows, tenant=row)

    def _render(self, request: HttpRequest, title: str, **context: Any) -> HttpResponse:
        if not self.has_view_permission(request):
            raise Http404("There is no such page.")
        context |= {**self.admin_site.each_context(request), "title": title, "opts": self.opts}
        lines = [(row, list(zip(row.cells, context["columns"], strict=True))) for row in context.pop("rows")]
        context["lines"] = lines
        return TemplateResponse(request, "admin/assistant/toolsetting/switchboard.html", context)

    def _set_switch(self, request: HttpRequest) -> HttpResponse:
        """Set the switch that the pressed button names as `tenant:assistant:tool:policy`."""
        tenant_id, assistant_id, tool, policy = (*request.POST.get("set", "").split(":"), "", "", "", "")[:4]
        tenant = tenants_of(request, self.permission).filter(pk=_number(tenant_id)).first()
        assistant = Assistant.objects.filter(pk=_number(assistant_id), tenant=tenant).first() if assistant_id else None
        if tenant is None or (assistant_id and assistant is None):
            raise Http404("There is no such tenant.")
        try:
            set_switch(actor=request.user, tenant=tenant, assistant=assistant, tool=tool, policy=policy)
        except ValueError as exc:
            self.message_user(request, f"Nothing was changed: {exc}.", messages.ERROR)
        else:
            self.message_user(request, _switch_message(tenant, assistant, tool, policy), messages.SUCCESS)
        return HttpResponseRedirect(request.get_full_path())


def _chosen(request: HttpRequest) -> str:
    """Return the name of the chosen tool; empty if none is chosen yet."""
    return request.GET.get("tool") or request.POST.get("tool") or ""


def _described(tool: Tool) -> dict[str, Any]:
    """Return a tool's data for a template, which would call the `Tool` itself."""
    has_settings = tool.config is not None or bool(tool.secrets)
    return {"name": tool.name, "description": tool.description, "has_settings": has_settings}


def _number(text: str) -> int:
    """Return an id; 0, which no row has, if the text is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _switch_message(tenant: Tenant, assistant: Assistant | None, tool: str, policy: str) -> str:
    whom = f"{assistant.name} of {tenant.name}" if assistant else tenant.name
    what = {"on": "is on", "ask": "asks first", "off": "is off", FOLLOW: "has no switch of its own"}[policy]
    return f"For {whom} {tool} {what}, from the next tool call on."
