"""The tabs of a tenant's page: which there are, who may open them, and their frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest
from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of, tenants_of
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.models import Tenant


@dataclass(frozen=True, slots=True, eq=False)
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
SENT_DATA = Tab("sent-data", _("What providers get"))
KEYS = Tab("keys", _("Keys"), "keys")
CONVERSATIONS = Tab("conversations", _("Conversations"), "read_chats")
AUDIT = Tab("audit", _("Audit"))
# Django's form of the row.
SETTINGS = Tab("change", _("Settings"))
DANGER = Tab("danger", _("Danger"), is_operators=True)
TABS = (
    OVERVIEW, PEOPLE, ASSISTANTS, TOOLS, SPEND, SENT_DATA, KEYS, CONVERSATIONS, AUDIT, SETTINGS, DANGER,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AddedTab:
    """A tab of an optional app.

    Attributes:
        after: the tab that it follows.
        urls: returns the addresses of the tab, below the list of tenants; takes the page of tenants.
        on_overview: returns a link that the overview shows to those who may open the tab, if it shows one.
    """

    tab: Tab
    after: Tab
    urls: Callable[[Any], list[URLPattern]]
    on_overview: Callable[[Tenant], SafeString] | None = None


_added: list[AddedTab] = []


def add_tab(tab: AddedTab) -> None:
    """Show a tab on the pages of tenants."""
    _added.append(tab)


def all_tabs() -> list[Tab]:
    """Return the tabs, those of optional apps too, in their order."""
    tabs = list(TABS)
    for added in _added:
        tabs.insert(tabs.index(added.after) + 1, added.tab)
    return tabs


def added_urls(page: Any) -> list[URLPattern]:
    """Return the addresses of the tabs of optional apps."""
    return [url for added in _added for url in added.urls(page)]


def overview_links(request: HttpRequest, tenant: Tenant) -> list[SafeString]:
    """Return the links that optional apps show on a tenant's overview."""
    shown = [added for added in _added if added.tab.is_open(request, tenant.pk)]
    return [added.on_overview(tenant) for added in shown if added.on_overview is not None]


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
        for tab in all_tabs()
        if tab.is_open(request, tenant.pk)
    ]


def page_of(site: AdminSite, request: HttpRequest, tenant: Tenant, current: Tab, **own: Any) -> dict[str, Any]:
    """Return the context of a tab's template; `own` is what the tab itself shows."""
    return {**site.each_context(request), "opts": Tenant._meta, **frame_of(request, tenant, current), **own}
