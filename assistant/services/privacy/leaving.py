"""Ends memberships, and deletes what members stored in these tenants."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from assistant.models import Membership
from assistant.services.privacy.leaving_rules import deletions
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.memberships import check_leaving


@transaction.atomic
def end_memberships(
    *, actor: audit_trail.Actor, memberships: QuerySet[Membership], keeps_administrators: bool = True
) -> None:
    """Delete memberships together with what the members stored in these tenants.

    Args:
        actor: the user who ends them, for the audit trail; None if the host project's memberships have changed.
        keeps_administrators: refuse to leave a tenant without owner or admin. The host project decides that itself.

    Raises:
        LastAdministrator: a tenant would lose its last owner, or its last admin.
    """
    if keeps_administrators:
        check_leaving(memberships.select_related("tenant"))
    for deletion in deletions():
        deletion(actor=actor, memberships=memberships)
    memberships.delete()
