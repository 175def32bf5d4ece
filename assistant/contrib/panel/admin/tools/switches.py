"""The list and form of tools' settings; the pages of the board are beside it."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext

from assistant.admin.tools import ToolSettingAdmin, chosen_tool
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.admin.tools.board import board_view
from assistant.contrib.panel.admin.tools.board_now import board_now_view
from assistant.contrib.panel.admin.tools.simulate import simulate_view
from assistant.contrib.panel.admin.tools.tenant_board import tenant_board_view
from assistant.contrib.panel.admin.tools.tool_page import tool_view
from assistant.models import ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Tool


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


def _described(tool: Tool) -> dict[str, Any]:
    """Return a tool's data for a template, which would call the `Tool` itself."""
    has_settings = tool.config is not None or bool(tool.secrets)
    return {"name": tool.name, "description": tool.description, "has_settings": has_settings}
