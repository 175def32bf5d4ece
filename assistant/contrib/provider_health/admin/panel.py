"""The page in the room *Settings*, and the link from a provider's page."""

from __future__ import annotations

from django.urls import NoReverseMatch
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.panel.admin.base.added_links import add_link
from assistant.contrib.panel.admin.base.rooms import AddedPage, add_page
from assistant.contrib.provider_health.admin.health_page import URL_NAME, health_page
from assistant.models import Provider


def _link(provider: Provider) -> SafeString | None:
    try:
        page = reverse(f"admin:{URL_NAME}")
    except NoReverseMatch:  # in a project's own admin, which has the pages of models alone
        return None
    return format_html('<a href="{}?provider={}">{}</a>', page, provider.pk, _("How it answers"))


add_page(
    AddedPage(
        room="settings",
        name=gettext_lazy("Us or the provider?"),
        route="provider-health/",
        url_name=URL_NAME,
        view=health_page,
        may_see=is_operator,
    )
)
add_link("provider", _link)
