"""Which tenants a change set is given to."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from assistant.contrib.change_sets.models import ChangeSet, TenantLabel
from assistant.contrib.change_sets.services.items import ChangeSetRefused
from assistant.models import Tenant

# Tenants that one set reaches: it begins in one transaction.
MAX_TENANTS = 1_000


def tenants_of_set(change_set: ChangeSet) -> QuerySet[Tenant]:
    """Return the tenants that a set is given to if it begins now, by name."""
    rows = Tenant.objects.order_by("name", "pk")
    if change_set.whom == ChangeSet.Whom.ALL:
        return rows
    if change_set.whom == ChangeSet.Whom.TENANT:
        return rows.filter(pk=change_set.tenant_id or 0)
    return rows.filter(Exists(TenantLabel.objects.filter(tenant=OuterRef("pk"), label=change_set.label)))


def reached(change_set: ChangeSet) -> list[Tenant]:
    """Return the tenants that a set reaches. Raises `ChangeSetRefused` if it is none, or more than `MAX_TENANTS`."""
    found = list(tenants_of_set(change_set)[: MAX_TENANTS + 1])
    if not found:
        raise ChangeSetRefused(_("No tenant is reached: choose a tenant, or a label that tenants have."))
    if len(found) > MAX_TENANTS:
        raise ChangeSetRefused(
            _("More than %(most)d tenants are reached; give the set to labels.") % {"most": MAX_TENANTS}
        )
    return found
