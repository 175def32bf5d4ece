"""The first page of the control panel, and the list of all models."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _


def context(request: HttpRequest) -> dict[str, Any]:
    """Return what the first page shows to a user, of the picked tenant or of all that they may see."""
    return {}


def advanced(request: HttpRequest) -> HttpResponse:
    """Show the lists of all models that the user may see."""
    context = {
        **admin.site.each_context(request),
        "title": _("Advanced"),
        "app_list": admin.site.get_app_list(request),
    }
    return TemplateResponse(request, "admin/assistant/panel/advanced.html", context)
