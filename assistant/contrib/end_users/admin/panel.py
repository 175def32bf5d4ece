"""What the pages of the control panel show of end users."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.contrib.end_users.models import EndUser, WidgetOrigin
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.search.search import describe_kind
from assistant.contrib.panel.reports.search import MAX_HITS, Hit, find_more
from assistant.contrib.panel.reports.tenant_filter import TenantFilter


def _found(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    rows = EndUser.objects.filter(Q(name__icontains=text) | Q(external_id=text)).select_related("tenant")
    for end_user in tenants.rows(rows).order_by("-pk")[: MAX_HITS + 1]:
        yield Hit("enduser", str(end_user.pk), str(end_user), end_user.tenant.name)


show_in_room("tenants", EndUser, after="customrole")
show_in_room("tenants", WidgetOrigin, after="enduser")
describe_empty_list("widgetorigin", _("No page may show the widget yet. Add its address."))
find_more(_found, permissions=("people",), after="membership")
describe_kind(EndUser, _("End users"))
