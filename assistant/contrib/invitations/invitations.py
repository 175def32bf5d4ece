"""Invitations to tenants: by a signed link, which works once, for some days, and until it is revoked.

A person who opens the link joins with the account that has the invited e-mail address, or makes a new account.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.invitations.models import Invitation
from assistant.models import Membership, Tenant
from assistant.services.errors import Refused
from assistant.services.tenancy import audit_trail, mail
from assistant.services.tenancy.email_domains import tenants_of
from assistant.services.tenancy.memberships import add_member, may_grant
from assistant.services.tenancy.permissions import Person
from assistant.services.tenancy.row_scope import all_tenants

# Of one tenant in 24 hours, and how often one invitation may be sent.
MAX_A_DAY, MAX_SENDINGS = 50, 5
_signer = Signer(salt="assistant.invitation")


class InvitationRefused(ValueError):
    """The invitation cannot be made, sent or accepted; the message says why, and can be shown."""


def are_on() -> bool:
    """Return whether the operator lets people be invited (`ASSISTANT_INVITATION_DAYS`)."""
    return bool(settings.ASSISTANT_INVITATION_DAYS > 0)


@transaction.atomic
def invite(*, tenant: Tenant, email: str, role: str, actor: Person) -> Invitation:
    """Invite a person. The link is made by `token_of` and sent by `send`.

    Raises:
        InvitationRefused: the address is not valid, a member's or invited already; `actor` may not grant the role; the
            members are those of the project's own tenant; or invitations are off.
        Refused: the tenant has invited too many people today.
    """
    email = email.strip()
    # One after the other, so that the limit holds and nobody is invited twice.
    Tenant.objects.select_for_update().only("pk").get(pk=tenant.pk)
    _check(tenant, email, role, actor)
    days = timedelta(days=settings.ASSISTANT_INVITATION_DAYS)
    found = Invitation.objects.create(
        tenant=tenant, email=email, role=role, invited_by_id=actor.pk, expires_at=timezone.now() + days
    )
    _record(found, "invitation.make", actor, {"role": role})
    return found


def _check(tenant: Tenant, email: str, role: str, actor: Person) -> None:
    if not are_on():
        raise InvitationRefused(_("Invitations are switched off."))
    if tenant.external_id is not None:
        raise InvitationRefused(_("The members of this tenant are those of the project's own tenant."))
    try:
        validate_email(email)
    except ValidationError:
        raise InvitationRefused(_("This is not an e-mail address.")) from None
    if role == Membership.Role.END_USER or role not in Membership.Role.values:
        raise InvitationRefused(_("People are invited as members, admins or owners."))
    if not may_grant(actor=actor, tenant=tenant, role=role):
        raise InvitationRefused(_("You may not give this role."))
    mine = Invitation.objects.filter(tenant=tenant)
    if mine.filter(email__iexact=email, accepted_at=None, revoked_at=None, expires_at__gt=timezone.now()).exists():
        raise InvitationRefused(_("This address is invited already. Send that invitation again, or revoke it."))
    people = Membership.objects.filter(tenant=tenant).exclude(role=Membership.Role.END_USER)
    if _has_email() and people.filter(**{f"user__{_email_field()}__iexact": email}).exists():
        raise InvitationRefused(_("Somebody with this address is a member already."))
    since = timezone.now() - timedelta(days=1)
    if mine.filter(created_at__gt=since).count() >= MAX_A_DAY:
        sentence = _("A tenant can invite %(number)d people in 24 hours. Try again later.")
        raise Refused("limit_reached", sentence % {"number": MAX_A_DAY})


def send(*, invitation: Invitation, link: str, actor: Person) -> bool:
    """Send the link to the address; return whether that was possible. Where e-mail is not configured it is not."""
    is_sent = mail.is_mail_configured() and mail.send(
        to=invitation.email, template="invitation", invitation=invitation, link=link, inviter=actor.get_username()
    )
    if is_sent:
        invitation.is_sent = True
        invitation.save(update_fields=["is_sent"])
    return is_sent


@transaction.atomic
def renew(*, invitation: Invitation, actor: Person) -> Invitation:
    """Give an invitation a new link, from today on; older links end.

    Raises:
        InvitationRefused: it was accepted or revoked, `actor` may not grant its role, or it was sent too often.
    """
    found = Invitation.objects.select_for_update().get(pk=invitation.pk, tenant=invitation.tenant)
    _check_changeable(found, actor)
    if found.serial >= MAX_SENDINGS:
        sentence = _("An invitation can be sent %(number)d times. Revoke it, and make a new one.")
        raise InvitationRefused(sentence % {"number": MAX_SENDINGS})
    found.serial += 1
    found.is_sent = False
    found.invited_by_id = actor.pk
    found.expires_at = timezone.now() + timedelta(days=settings.ASSISTANT_INVITATION_DAYS)
    found.save(update_fields=["serial", "is_sent", "invited_by", "expires_at"])
    _record(found, "invitation.renew", actor)
    return found


@transaction.atomic
def revoke(*, invitation: Invitation, actor: Person) -> None:
    """End an invitation, so that its link no longer works.

    Raises:
        InvitationRefused: it was accepted or revoked already, or `actor` may not grant its role.
    """
    found = Invitation.objects.select_for_update().get(pk=invitation.pk, tenant=invitation.tenant)
    _check_changeable(found, actor)
    found.revoked_at = timezone.now()
    found.save(update_fields=["revoked_at"])
    _record(found, "invitation.revoke", actor)


def _check_changeable(invitation: Invitation, actor: Person) -> None:
    if invitation.accepted_at is not None or invitation.revoked_at is not None or not are_on():
        raise InvitationRefused(_("This invitation is not open any more."))
    if not may_grant(actor=actor, tenant=invitation.tenant, role=invitation.role):
        raise InvitationRefused(_("You may not give this role."))


def token_of(invitation: Invitation) -> str:
    """Return the signed text that a link carries."""
    return _signer.sign(f"{invitation.pk}.{invitation.serial}")


@all_tenants()
def invitation_of(token: str) -> Invitation | None:
    """Return the invitation of a link that can be accepted now, else None.

    It can be accepted only while the person who sent it may still give the role.
    """
    try:
        pk, _dot, serial = _signer.unsign(token).partition(".")
    except BadSignature:
        return None
    return _open(Invitation.objects.filter(pk=int(pk), serial=int(serial), tenant__is_active=True))


def _open(rows: Any) -> Invitation | None:
    rows = rows.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())
    found: Invitation | None = rows.select_related("tenant", "invited_by").first()
    if found is None or not are_on() or found.tenant.external_id is not None or found.invited_by is None:
        return None
    inviter: Any = found.invited_by
    may = inviter.is_active and may_grant(actor=inviter, tenant=found.tenant, role=found.role)
    return found if may else None


@all_tenants()
def account_of(invitation: Invitation) -> Any | None:
    """Return the account with the invited address that can join, or None."""
    if not _has_email():
        return None
    users = get_user_model()._default_manager.filter(**{f"{_email_field()}__iexact": invitation.email})
    people = users.filter(is_active=True).exclude(assistant_memberships__role=Membership.Role.END_USER)
    return people.order_by("pk").first()


@all_tenants()
def holder_of(invitation: Invitation) -> Tenant | None:
    """Return another tenant that the invited address belongs to by its domain, or None."""
    return next((tenant for tenant in tenants_of(invitation.email) if tenant.pk != invitation.tenant_id), None)


def is_for(invitation: Invitation, user: Any) -> bool:
    """Return whether an invitation was sent to the address of a user's account."""
    own = str(getattr(user, _email_field(), "") or "") if _has_email() else ""
    return bool(own) and own.casefold() == invitation.email.casefold()


@all_tenants()
@transaction.atomic
def accept(*, invitation: Invitation, user: Any) -> Membership:
    """Make a user of the invited address a member; the link no longer works then.

    Raises:
        InvitationRefused: the invitation is not open any more, or is for another address, or they are a member already.
    """
    found = _lock(invitation)
    if not is_for(found, user):
        raise InvitationRefused(_("This invitation is for another e-mail address."))
    return _join(found, user.get_username(), "")


@all_tenants()
@transaction.atomic
def decline(*, invitation: Invitation, user: Any) -> None:
    """End an invitation that is for a user and that they do not want.

    Raises:
        InvitationRefused: the invitation is not open any more, or is for another address.
    """
    found = _lock(invitation)
    if not is_for(found, user):
        raise InvitationRefused(_("This invitation is for another e-mail address."))
    found.revoked_at = timezone.now()
    found.save(update_fields=["revoked_at"])
    _record(found, "invitation.decline", user)


@all_tenants()
@transaction.atomic
def accept_as_new(*, invitation: Invitation, username: str, password: str) -> Membership:
    """Make a new account a member. It has the invited address if the link was sent there, which proves whose it is.

    Raises:
        InvitationRefused: the invitation is not open any more, there is an account with the address, or the user name
            is taken.
    """
    found = _lock(invitation)
    if account_of(found) is not None:
        raise InvitationRefused(_("There is an account with this address: sign in to join."))
    users = get_user_model()._default_manager
    if users.filter(**{f"{get_user_model().USERNAME_FIELD}__iexact": username}).exists():
        raise InvitationRefused(_("This user name is taken."))
    membership = _join(found, username, password)
    if found.is_sent and _has_email():
        user = membership.user
        setattr(user, _email_field(), found.email)
        user.save(update_fields=[_email_field()])
    return membership


def _lock(invitation: Invitation) -> Invitation:
    # Two requests with the same link must not both join.
    rows = Invitation.objects.select_for_update(of=("self",))
    found = _open(rows.filter(pk=invitation.pk, serial=invitation.serial, tenant=invitation.tenant))
    if found is None:
        raise InvitationRefused(_("This invitation is not open any more."))
    return found


def _join(invitation: Invitation, username: str, password: str) -> Membership:
    try:
        membership = add_member(tenant=invitation.tenant, username=username, role=invitation.role, password=password)
    except ValueError:
        raise InvitationRefused(_("You are a member already.")) from None
    invitation.accepted_at, invitation.accepted_by_id = timezone.now(), membership.user_id
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    _record(invitation, "invitation.accept", membership.user, {"role": invitation.role})
    return membership


def _record(invitation: Invitation, action: str, actor: Any, details: dict[str, Any] | None = None) -> None:
    audit_trail.record(actor=actor, action=action, target=invitation.email, tenant=invitation.tenant, details=details)


def _email_field() -> str:
    return get_user_model().get_email_field_name()


def _has_email() -> bool:
    return _email_field() in {field.name for field in get_user_model()._meta.concrete_fields}
