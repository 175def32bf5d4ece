"""Which invitations are deleted: those that ended long ago, and those of a person who is erased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime

from django.db.models import Q

from assistant.contrib.invitations.models import Invitation
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows


def ended_before(tenant: Tenant, until: datetime) -> Iterator[Due]:
    """Yield the invitations of a tenant that ended before a moment."""
    ended = Q(accepted_at__lt=until) | Q(revoked_at__lt=until) | Q(expires_at__lt=until)
    yield Due("invitations", Invitation.objects.filter(ended, tenant=tenant), delete_rows)


def delete_those_of(names: Collection[str]) -> Counter[str]:
    """Delete the invitations of a person's address to any tenant, which need not have been accepted."""
    theirs = Q(pk__in=[])
    for name in names:
        theirs |= Q(email__iexact=name)
    _, deleted = Invitation.objects.filter(theirs).delete()
    return Counter(deleted)
