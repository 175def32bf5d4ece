"""Whether a user has to prove a second factor, and whether a session has done so.

The factors themselves are rows of django-allauth, which is only installed where ASSISTANT_SECOND_FACTOR is on.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.db.models import QuerySet

from assistant.models import Membership
from assistant.services.tenancy.row_scope import all_tenants

AUTHENTICATOR = "mfa.Authenticator"
# Recovery codes replace a lost factor, and are not counted as factors themselves.
RECOVERY_CODES = "recovery_codes"
# The key in a session whose value is the user who has proved a second factor in it.
_PROVED_BY = "assistant_second_factor"
_ADMINS = (Membership.Role.ADMIN, Membership.Role.OWNER)


class Lack(Enum):
    """Why a session counts as not signed in yet."""

    PROOF = "The sign-in is not complete: prove the second factor."
    FACTOR = "A second factor is required: set one up first."


def is_on() -> bool:
    """Return whether sign-in can have a second factor."""
    return bool(settings.ASSISTANT_SECOND_FACTOR != "off")


def authenticators_of(user: Any) -> QuerySet[Any]:
    """Return the user's factors and recovery codes: rows of `allauth.mfa.models.Authenticator`."""
    rows: QuerySet[Any] = apps.get_model(AUTHENTICATOR)._default_manager.filter(user_id=user.pk)
    return rows


def factors_of(user: Any) -> QuerySet[Any]:
    """Return the user's factors alone."""
    return authenticators_of(user).exclude(type=RECOVERY_CODES)


def is_required_of(user: Any) -> bool:
    """Return whether the operator requires a second factor of a user."""
    if settings.ASSISTANT_SECOND_FACTOR == "required":
        return True
    if settings.ASSISTANT_SECOND_FACTOR != "admins":
        return False
    if user.is_staff or user.is_superuser:
        return True
    with all_tenants():
        return Membership.objects.filter(user_id=user.pk, role__in=_ADMINS).exists()


def remember_proof(session: SessionBase, user: Any) -> None:
    """Note that the user has proved a second factor in this session, or has set one up."""
    session[_PROVED_BY] = str(user.pk)


def lack_of(user: Any, session: SessionBase) -> Lack | None:
    """Return why a signed-in user's session does not count yet; None if it does.

    This holds for every page that signs people in: a session without the second factor does not count for a user who
    has one.
    """
    if not is_on() or isinstance(user, AnonymousUser) or session.get(_PROVED_BY) == str(user.pk):
        return None
    if factors_of(user).exists():
        return Lack.PROOF
    return Lack.FACTOR if is_required_of(user) else None


def sentence_of_lack(user: Any, session: SessionBase) -> str:
    """Return the reason as a sentence; empty if nothing is lacking."""
    lack = lack_of(user, session)
    return "" if lack is None else lack.value
