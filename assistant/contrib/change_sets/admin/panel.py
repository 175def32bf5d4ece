"""What the control panel shows of change sets: their list, the labels of tenants, and *Needs you*."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.change_sets.models import ChangeSet, TenantLabel
from assistant.contrib.panel.admin.base.added_links import DraftButton, add_draft_button
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.admin.settings.audit_links import link_entries
from assistant.contrib.panel.reports.needs import MAX_COUNTED, Item, look_for
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import AuditEntry, PromptVersion

WAITING = "change-set"


def waiting_sets(tenants: TenantFilter) -> list[Item]:
    """Return the sets that wait for a second person, the oldest first; one query. Operators alone see them."""
    if tenants.ids is not None or not settings.ASSISTANT_CHANGE_SETS_BY_TWO:
        return []
    waiting = ChangeSet.objects.filter(state=ChangeSet.State.WAITING)
    rows = waiting.select_related("tenant").order_by("created_at")[:MAX_COUNTED]
    return [Item(row.name, "" if row.tenant is None else row.tenant.name, row.pk) for row in rows]


def addresses_of_sets(entries: Collection[AuditEntry]) -> dict[int, str]:
    """Return the pages of the sets that entries of the audit are about."""
    wanted = {entry.pk: entry.details.get("change_set") for entry in entries if isinstance(entry.details, dict)}
    known = set(ChangeSet.objects.filter(pk__in=[pk for pk in wanted.values() if pk]).values_list("pk", flat=True))
    page = "admin:assistant_change_sets_changeset_change"
    return {entry: reverse(page, args=[pk]) for entry, pk in wanted.items() if pk in known}


def rollout_of(version: PromptVersion) -> str:
    """Return the form of a set that gives this draft to a share of the conversations."""
    return f"{reverse('admin:assistant_change_sets_changeset_add')}?{urlencode({'version': version.pk})}"


link_entries("changeset", addresses_of_sets)
show_in_room("assistants", ChangeSet, after="promptvariable")
show_in_room("tenants", TenantLabel, after="membership")
describe_empty_list(
    "changeset",
    gettext_lazy(
        "There are no change sets. One holds a prompt, switches, models and limits that change together, for one "
        "tenant, a label or everybody, and is taken back as a whole."
    ),
)
describe_empty_list(
    "tenantlabel", gettext_lazy("No tenant has a label. A change set can be given to all tenants with one.")
)
add_draft_button("share", DraftButton(gettext_lazy("Save and give to a share"), rollout_of, is_operator))
look_for(WAITING, waiting_sets, after="approval")
describe_need(
    WAITING,
    sentence=lambda n: ngettext("%(n)s change set waits for approval", "%(n)s change sets wait for approval", n),
    every="assistant_change_sets_changeset_changelist",
    page="assistant_change_sets_changeset_change",
)
