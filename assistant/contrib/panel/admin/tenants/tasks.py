"""The first page of users who hold only custom roles: what they may open in each tenant."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from assistant.admin.base.visible_tenants import reachable_tenants
from assistant.contrib.panel.admin.tenants.tabs import open_tabs
from assistant.services.tenancy.members import suspended_tenants_of

# More tenants than these are reached by the picker.
MAX_TENANTS = 60


def page(site: AdminSite, request: HttpRequest) -> TemplateResponse:
    """Return the page with links to the open tabs of the user's tenants."""
    tenants = reachable_tenants(request).order_by("name", "slug")[:MAX_TENANTS]
    context = {
        **site.each_context(request),
        "title": _("Your tasks"),
        "tenants": [(tenant, open_tabs(request, tenant)) for tenant in tenants],
        "suspended": suspended_tenants_of(user_id=request.user.pk or 0),
    }
    return TemplateResponse(request, "admin/assistant/panel/tasks.html", context)
