"""Ending memberships: a member's place in a tenant goes, and their stored credentials with it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from assistant.models import Membership
from assistant.services.mcp_servers.member_credentials import forget_credentials
from assistant.services.tenancy import audit_trail


@transaction.atomic
def end_memberships(*, actor: audit_trail.Actor, places: QuerySet[Membership]) -> None:
    """Take people's places in tenants away, and with each at once the credentials that they stored there.

    Args:
        actor: who does it, for the trail; None for what follows the project's own memberships.
    """
    forget_credentials(actor=actor, places=places)
    places.delete()
