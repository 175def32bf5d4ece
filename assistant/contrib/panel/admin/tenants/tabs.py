"""The tabs of a tenant's page: which there are, who may open them, and their frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.visible_tenants import is_operator, permitted_of, tenants_of
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.models import Tenant


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab. `permission` opens it to others than the tenant's admins; `is_operators` closes it to these.

    `setting` names a setting of the deployment that, if false, leaves the tab to operators.
    """

    slug: str
    name: str | Promise
    permission: str = ""
    is_operators: bool = False
    setting: str = ""

    @property
    def url_name(self) -> str:
        return f"admin:assistant_tenant_{self.slug}"

    def is_open(self, request: HttpRequest, tenant_id: int) -> bool:
        """Return whether the user may open the tab of a tenant."""
        if is_operator(request):
            return True
        if self.is_operators or (self.setting and not getattr(settings, self.setting)):
            return False
        return tenant_id in permitted_of(request).tenants(self.permission)


OVERVIEW = Tab("overview", _("Overview"))
PEOPLE = Tab("people", _("People"), "people")
ASSISTANTS = Tab("assistants", _("Assistants"))
TOOLS = Tab("tools", _("Tools"), "tools")
SPEND = Tab("spend", _("Spend and limits"), "spend")
KEYS = Tab("keys", _("Keys"), "keys")
CONVERSATIONS = Tab("conversations", _("Conversations"), "read_chats")
AUDIT = Tab("audit", _("Audit"))
BUNDLE = Tab("bundle", _("Bundle"), setting="TENANT_BUNDLES")
BRAND = Tab("brand", _("Brand"), setting="TENANT_BRANDS")
# Django's form of the row.
SETTINGS = Tab("change", _("Settings"))
REQUESTS = Tab("requests", _("Sent requests"), is_operators=True)
DANGER = Tab("danger", _("Danger"), is_operators=True)
TABS = (
    OVERVIEW, PEOPLE, ASSISTANTS, TOOLS, SPEND, KEYS, CONVERSATIONS, AUDIT, BUNDLE, BRAND, SETTINGS, REQUESTS, DANGER,
)  # fmt: skip


def tenant_of_tab(request: HttpRequest, object_id: str, tab: Tab) -> Tenant:
    """Return the tenant of a tab. Raises `Http404` if there is none, or the user may not open its tab."""
    number = int(object_id) if object_id.isascii() and object_id.isdigit() and len(object_id) < 19 else 0
    tenants = tenants_of(request, tab.permission)
    tenant = tenants.filter(pk=number).select_related("limits", "default_provider").first()
    if tenant is None or not tab.is_open(request, tenant.pk):
        raise Http404("There is no such tenant.")
    return tenant


def frame_of(request: HttpRequest, tenant: Tenant, current: Tab) -> dict[str, Any]:
    """Return what the frame of a tab shows: the tenant's name and the tabs that the user may open."""
    return {
        "title": tenant.name,
        "subtitle": None,
        "tenant": tenant,
        "tabs": open_tabs(request, tenant, current),
    }


def open_tabs(request: HttpRequest, tenant: Tenant, current: Tab | None = None) -> list[Link]:
    """Return links to the tabs of a tenant that the user may open."""
    return [
        Link(str(tab.name), reverse(tab.url_name, args=[tenant.pk]), tab is current)
        for tab in TABS
        if tab.is_open(request, tenant.pk)
    ]


def page_of(site: AdminSite, request: HttpRequest, tenant: Tenant, current: Tab, **own: Any) -> dict[str, Any]:
    """Return the context of a tab's template; `own` is what the tab itself shows."""
    return {**site.each_context(request), "opts": Tenant._meta, **frame_of(request, tenant, current), **own}
