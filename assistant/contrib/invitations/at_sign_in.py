"""Invitations of people who sign in elsewhere, by their verified address: for `assistant.contrib.sign_in`."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from assistant.contrib.invitations import invitations
from assistant.contrib.invitations.models import Invitation
from assistant.contrib.invitations.pages import ask_about
from assistant.models import Membership
from assistant.services.tenancy.row_scope import all_tenants


@all_tenants()
def has_proven(email: str, user: Any) -> bool:
    """Return whether a user owns an address because they accepted an invitation that was sent there."""
    return Invitation.objects.filter(accepted_by=user, is_sent=True, email__iexact=email).exists()


@all_tenants()
def is_invited(email: str) -> bool:
    """Return whether an address has an invitation that can be accepted now."""
    return bool(_invitations_to(email))


def page_that_asks(request: HttpRequest, *, email: str, user: Any, following: str) -> str | None:
    """Return the address of the page that asks a person whether they join a tenant; None if they are not invited.

    Nobody joins by an invitation without being asked: an admin can invite any address, of another tenant's people too.

    Args:
        user: None for somebody new.
        following: a path of this site, where who declines is led to.
    """
    invitation = _invitation_for(email, user)
    if invitation is None:
        return None
    ask_about(request, invitation, following=following)
    return reverse("assistant:invitation")


@all_tenants()
def _invitation_for(email: str, user: Any) -> Invitation | None:
    """Return the oldest open invitation of an address that a user, None for somebody new, could accept."""
    tenants = set() if user is None else set(Membership.objects.filter(user=user).values_list("tenant_id", flat=True))
    open_ones = (one for one in _invitations_to(email) if one.tenant_id not in tenants)
    return next((one for one in open_ones if user is None or invitations.is_for(one, user)), None)


def _invitations_to(email: str) -> list[Invitation]:
    rows = Invitation.objects.filter(email__iexact=email, accepted_at=None, revoked_at=None)
    valid = rows.filter(expires_at__gt=timezone.now()).order_by("pk")
    found = [row for row in valid if row.email.lower() == email.lower()]
    return [one for row in found if (one := invitations.invitation_of(invitations.token_of(row))) is not None]
