"""End users of tenants' own products, identified by the tenant's id for them and authenticated by short-lived tokens.

A token is signed, not stored. It names its tenant, assistant, end user, the API key that minted it and its expiry, and
is valid only on pages of an origin that the tenant allows. Revoking any of these revokes it, also in open connections.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.signing import BadSignature, Signer
from django.db import IntegrityError, transaction
from django.db.models import EmailField
from django.utils import timezone

from assistant.contrib.end_users.models import EndUser, WidgetOrigin, validate_origin
from assistant.contrib.end_users.scopes import MINT_SCOPE
from assistant.contrib.end_users.services.directory import info_of
from assistant.models import Assistant, Membership
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member, active_keys, member_of
from assistant.services.tenancy.row_scope import all_tenants
from assistant.services.tenancy.scopes import OF_TOKENS
from assistant.toolkit.context import UserId

TOKEN_PREFIX = "eu_"  # noqa: S105 - distinguishes tokens from API keys, not a secret  # nosec B105
DEFAULT_SECONDS = 900
MIN_SECONDS = 60
MAX_SECONDS = 3600
# Tokens are sent as websocket subprotocols, which may not contain Django's usual separator, a colon.
_signer = Signer(sep=".", salt="assistant.end-user-token")


def has_origins(*, tenant_id: int, assistant_id: int) -> bool:
    """Return whether any page may show the assistant to end users."""
    return WidgetOrigin.objects.filter(tenant_id=tenant_id, assistant_id=assistant_id).exists()


def allow_origin(*, assistant: Assistant, origin: str) -> WidgetOrigin:
    """Allow the pages of an origin to show an assistant. Raises `ValidationError`."""
    validate_origin(origin)
    row, _ = WidgetOrigin.objects.get_or_create(tenant_id=assistant.tenant_id, assistant=assistant, origin=origin)
    return row


def save_end_user(*, tenant_id: int, external_id: str, name: str, context: Mapping[str, Any]) -> EndUser:
    """Create or update the tenant's end user with this id, and return it."""
    try:
        return _save(tenant_id, external_id, name, context)
    except IntegrityError:
        # Created by a concurrent request.
        return _save(tenant_id, external_id, name, context)


@transaction.atomic
def _save(tenant_id: int, external_id: str, name: str, context: Mapping[str, Any]) -> EndUser:
    known = EndUser.objects.filter(tenant_id=tenant_id, external_id=external_id).first()
    fields = {"name": name, "context": dict(context), "seen_at": timezone.now()}
    if known is not None:
        for field, value in fields.items():
            setattr(known, field, value)
        known.save(update_fields=list(fields))
        return known
    user = _create_user_without_login("end-user")
    Membership.objects.create(tenant_id=tenant_id, user=user, role=Membership.Role.END_USER)
    return EndUser.objects.create(tenant_id=tenant_id, user=user, external_id=external_id, **fields)


def mint_token(*, end_user: EndUser, assistant: Assistant, key_id: int, seconds: int) -> tuple[str, datetime]:
    """Return a token with which `end_user` may use `assistant` for `seconds`, and when it expires.

    Args:
        key_id: the API key that requests the token. Revoking the key revokes the token.
    """
    until = timezone.now().replace(microsecond=0) + timedelta(seconds=seconds)
    values = [end_user.tenant_id, assistant.pk, str(end_user.user_id), key_id, int(until.timestamp())]
    return sign_token(values), until


def sign_token(values: Sequence[object]) -> str:
    """Return the token of these values. The same values give the same token."""
    return TOKEN_PREFIX + _signer.sign_object(list(values))


def read_token(token: str) -> list[Any]:
    """Return the values of a token. Raises `BadSignature`."""
    values: list[Any] = _signer.unsign_object(token.removeprefix(TOKEN_PREFIX))
    return values


def caller_of_token(*, token: str, tenant_slug: str, assistant_slug: str, origin: str) -> Caller | None:
    """Return the end user of a token that is sent by a page of `origin`; None if it is not valid.

    If `assistant_slug` is not empty, the token must be for that assistant.
    """
    try:
        tenant_id, assistant_id, user_id, key_id, until = read_token(token)
    except BadSignature:
        return None
    ends_at = datetime.fromtimestamp(until, UTC)
    allowed = WidgetOrigin.objects.filter(
        tenant_id=tenant_id,
        tenant__slug=tenant_slug,
        assistant_id=assistant_id,
        assistant__is_active=True,
        origin=origin,
    )
    if assistant_slug:
        allowed = allowed.filter(assistant__slug=assistant_slug)
    if ends_at <= timezone.now() or not allowed.exists():
        return None
    member = _find_end_user(tenant_id=tenant_id, user_id=user_id, key_id=key_id, assistant_id=assistant_id)
    return Caller(member, origin=origin, until=ends_at) if member else None


@all_tenants()
def _find_end_user(*, tenant_id: int, user_id: UserId, key_id: int, assistant_id: int) -> Member | None:
    """Return the end user of a token, or None unless tenant, end user, the key that minted it and its owner are active.

    The member may use only `assistant_id`. The key's limits do not apply to the end users that it mints tokens for.
    """
    membership = (
        Membership.objects.filter(
            tenant_id=tenant_id,
            user_id=user_id,
            role=Membership.Role.END_USER,
            tenant__is_active=True,
            user__is_active=True,
        )
        .select_related("tenant", "tenant__limits", "user", "user__assistant_end_user")
        .first()
    )
    key = active_keys().filter(pk=key_id, tenant_id=tenant_id).first()
    if membership is None or key is None or MINT_SCOPE not in key.scopes:
        return None
    member = member_of(membership, end_user=info_of(membership.user.assistant_end_user))
    return replace(member, scopes=OF_TOKENS, key_id=key.pk, assistant_id=assistant_id)


@transaction.atomic
def delete_end_user(*, end_user: EndUser) -> None:
    """Delete an end user with all conversations, runs and tokens."""
    end_user.user.delete()


def _create_user_without_login(kind: str) -> Any:
    """Create a user without a password, with a random name that starts with `kind`."""
    model = get_user_model()
    user = model()
    names = {model.USERNAME_FIELD, model.get_email_field_name()}
    for field in model._meta.concrete_fields:
        # A custom user model may require unique addresses.
        if field.name in names and field.unique:
            value = f"{kind}-{uuid.uuid4().hex}"
            setattr(user, field.name, f"{value}@users.invalid" if isinstance(field, EmailField) else value)
    user.set_unusable_password()
    user.save()
    return user
