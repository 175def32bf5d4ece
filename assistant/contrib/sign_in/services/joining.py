"""Finds the account and the tenants of a person who signs in elsewhere, by their verified e-mail address.

The address comes from the deployment's OpenID Connect provider, which says that it has verified it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from assistant.contrib.sign_in.services.inviting_apps import inviting_apps
from assistant.models import Membership, PersonSettings, Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.email_domains import tenants_of
from assistant.services.tenancy.row_scope import all_tenants

ACCOUNT = "socialaccount.SocialAccount"


def is_oidc_on() -> bool:
    """Return whether people can sign in by OpenID Connect."""
    return bool(settings.ASSISTANT_OIDC_ISSUER and settings.ASSISTANT_OIDC_CLIENT_ID)


def oidc_name() -> str:
    """Return what the provider is called."""
    return str(settings.ASSISTANT_OIDC_NAME)


def is_connected(user: Any) -> bool:
    """Return whether a user's account is connected with an identity of a provider."""
    return bool(apps.get_model(ACCOUNT)._default_manager.filter(user_id=user.pk).exists())


@transaction.atomic
def disconnect(user: Any) -> bool:
    """Forget the provider's identities of a user, who then signs in with the password; False if there are none."""
    rows = apps.get_model(ACCOUNT)._default_manager.filter(user_id=user.pk)
    if not rows.exists():
        return False
    rows.delete()
    audit_trail.record(actor=user, action="signin.disconnected", target=user.get_username())
    return True


@dataclass(frozen=True, slots=True)
class Account:
    """The account with an address. `is_proven`: the owner of the address may use it without its password."""

    user: Any
    is_proven: bool


class SeveralAccounts(LookupError):
    """Several accounts have the address, or none that may be used, so nobody can say whose it is."""


@all_tenants()
def account_with(email: str) -> Account | None:
    """Return the account with an address, or None.

    An address of an account with a password proves nothing by itself, since anyone could have typed it when they
    made the account. It is proven if an invitation was sent there and accepted.

    Raises:
        SeveralAccounts
    """
    model = get_user_model()
    field = model.get_email_field_name()
    # Databases find addresses with other letters too, such as one with a dotless i.
    rows = model._default_manager.filter(**{f"{field}__iexact": email})
    found = [row for row in rows if str(getattr(row, field)).lower() == email.lower()][:2]
    if not found:
        return None
    user: Any = found[0]
    is_end_user = Membership.objects.filter(user=user, role=Membership.Role.END_USER).exists()
    if len(found) > 1 or not user.is_active or is_end_user:
        raise SeveralAccounts(email)
    is_proven = not user.has_usable_password() or any(app.has_proven(email, user) for app in inviting_apps())
    return Account(user, is_proven)


@all_tenants()
def may_join(email: str) -> bool:
    """Return whether somebody new with this address belongs to a tenant by its domains, or is invited to one."""
    return bool(tenants_of(email)) or any(app.is_invited(email) for app in inviting_apps())


@all_tenants()
@transaction.atomic
def join(*, user: Any, email: str, name: str = "") -> list[Tenant]:
    """Make somebody who signs in elsewhere for the first time a member of the tenants that their domain belongs to.

    Returns:
        The tenants that they joined.

    Invitations are not accepted: their page asks. Members who are removed later stay removed, because later
    sign-ins do not call this.

    Args:
        name: the name that the provider gives; stored if they have set none.
    """
    if name:
        PersonSettings.objects.get_or_create(user_id=user.pk, defaults={"name": name[:100]})
    joined = []
    for tenant in tenants_of(email):
        _, is_new = Membership.objects.get_or_create(tenant=tenant, user=user)
        if is_new:
            details = {"by": "e-mail domain"}
            audit_trail.record(
                actor=user, action="member.join", target=user.get_username(), tenant=tenant, details=details
            )
            joined.append(tenant)
    return joined
