"""What the pages of the control panel show of bundles."""

from __future__ import annotations

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.contrib.bundles.admin.tenant_tab import BUNDLE, bundle_urls
from assistant.contrib.panel.admin.base.action_titles import name_actions
from assistant.contrib.panel.admin.base.added_links import add_link
from assistant.contrib.panel.admin.tenants.tabs import AUDIT, AddedTab, add_tab
from assistant.models import Assistant, Tenant


def _export_of_tenant(tenant: Tenant) -> SafeString:
    url = reverse("admin:assistant_tenant_bundle_export", args=[tenant.pk])
    return format_html('<a href="{}" download>{}</a>', url, gettext("Export the configuration"))


def _export_of_assistant(assistant: Assistant) -> SafeString | None:
    if not settings.ASSISTANT_TENANT_BUNDLES:
        return None
    url = reverse("admin:assistant_tenant_bundle_assistant", args=[assistant.tenant_id, assistant.pk])
    return format_html('<a href="{}" download>{}</a>', url, gettext("Export as a bundle"))


def _import_link(assistant: Assistant) -> SafeString | None:
    if not settings.ASSISTANT_TENANT_BUNDLES:
        return None
    url = reverse("admin:assistant_tenant_bundle", args=[assistant.tenant_id])
    return format_html('<a href="{}">{}</a>', url, gettext("Import a bundle"))


add_tab(AddedTab(BUNDLE, after=AUDIT, urls=bundle_urls, on_overview=_export_of_tenant))
add_link("assistant", _export_of_assistant)
add_link("assistant", _import_link)
name_actions("bundle", gettext_lazy("bundle"))
