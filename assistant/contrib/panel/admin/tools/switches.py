"""The list and form of tools' settings; the pages of the board are beside it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.assistants import tool_choices
from assistant.admin.tools import SettingForm, ToolSettingAdmin
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.admin.tools.board import board_view
from assistant.contrib.panel.admin.tools.board_now import board_now_view
from assistant.contrib.panel.admin.tools.declared_settings import (
    CONFIG,
    config_in,
    declared_tool,
    fields_of,
    secrets_in,
)
from assistant.contrib.panel.admin.tools.simulate import simulate_view
from assistant.contrib.panel.admin.tools.tenant_board import tenant_board_view
from assistant.contrib.panel.admin.tools.tool_page import tool_view
from assistant.models import ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Tool

# Fields of every tool setting.
_BASE_FIELDS = ("tenant", "assistant", "tool", "policy", "reason", "until")


class DeclaredForm(SettingForm):
    """Has a field for each setting and secret that the tool declares; `declared` is the tool, if it declares some."""

    declared: Tool | None = None

    def check_config(self, cleaned: dict[str, Any]) -> None:
        declared = self.declared
        if declared is not None:
            cleaned["config"] = self.instance.config if declared.config is None else config_in(declared, cleaned)
        super().check_config(cleaned)

    def field_with(self, problem: str) -> str | None:
        if self.declared is None:
            return super().field_with(problem)
        field = CONFIG + problem.partition(":")[0].partition(".")[0]
        return field if field in self.fields else None


@replace(ToolSetting)
class ToolSettingPages(ToolSettingAdmin):
    """Tool settings of tenants and assistants; holds the addresses of the board's pages."""

    change_list_template = "admin/assistant/toolsetting/change_list.html"

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show a list of tools first, then the chosen tool's form."""
        if chosen_tool(request) in catalogue.registry():
            return super().add_view(request, form_url, extra_context)
        if not self.has_add_permission(request):
            raise PermissionDenied
        rest = request.GET.copy()
        rest.pop("tool", None)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Add tool setting"),
            "opts": self.opts,
            "tools": [_described(tool) for tool in catalogue.registry()],
            "rest": f"&{rest.urlencode()}" if rest else "",
        }
        return TemplateResponse(request, "admin/assistant/toolsetting/choose.html", context)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        setting = obj or ToolSetting(tool=chosen_tool(request))
        declared = declared_tool(setting)
        if declared is None:
            return self.fields if obj is not None else _BASE_FIELDS
        secrets = ("clear_secrets",) if declared.secrets and obj is not None else ()
        return (*_BASE_FIELDS, *fields_of(declared, setting), *secrets)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form with a field for each setting and secret that the tool declares."""
        setting = obj or ToolSetting(tool=chosen_tool(request))
        declared = declared_tool(setting)
        fields: dict[str, Any] = {"declared": declared, **fields_of(declared, setting)} if declared else {}
        if obj is None:
            fields["tool"] = (
                forms.CharField(disabled=True, initial=setting.tool)
                if setting.tool in catalogue.registry() and request.GET.get("tool")
                else forms.ChoiceField(label=gettext_lazy("Tool"), choices=tool_choices)
            )
        kwargs["form"] = type("OwnForm", (DeclaredForm,), fields)
        return super().get_form(request, obj, change=change, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        declared = declared_tool(obj)
        if declared is not None:
            obj.config = form.cleaned_data["config"]
            # What was not entered stays as it is stored, even if no key decrypts it at the moment.
            if (secrets := secrets_in(declared, obj, form.cleaned_data)) is not None:
                obj.secrets = secrets
        super().save_model(request, obj, form, change)

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("switchboard/", wrap(board_view), name="switchboard"),
            path("switchboard-now/", wrap(board_now_view), name="switchboard_now"),
            path("simulate/", wrap(simulate_view), name="simulate"),
            path("tool/<str:name>/", wrap(tool_view), name="tool_page"),
            path("switchboard/<slug:tenant>/", wrap(tenant_board_view), name="switchboard_of_tenant"),
            *super().get_urls(),
        ]


def chosen_tool(request: HttpRequest) -> str:
    """Return the name of the chosen tool; empty if none is chosen yet."""
    return request.GET.get("tool") or request.POST.get("tool") or ""


def _described(tool: Tool) -> dict[str, Any]:
    """Return a tool's data for a template, which would call the `Tool` itself."""
    has_settings = tool.config is not None or bool(tool.secrets)
    return {"name": tool.name, "description": tool.description, "has_settings": has_settings}
