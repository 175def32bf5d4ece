"""End users of tenants' own products: known by the tenant's id of them, let in by short-lived tokens.

A token is signed, not stored. It names its tenant, assistant, end user, the key that minted it and its end, and counts
only from a page of an origin that the tenant allows. Taking back any of these ends it, in open connections too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.signing import BadSignature, Signer
from django.db import IntegrityError, transaction
from django.utils import timezone

from assistant.models import Assistant, EndUser, Membership, WidgetOrigin
from assistant.models.endusers import validate_origin
from assistant.services.tenancy.members import Member, find_end_user
from assistant.services.tenancy.memberships import make_nameless_user
from assistant.services.tenancy.row_scope import all_tenants

TOKEN_PREFIX = "eu_"  # noqa: S105 - it tells a token from a key, and is no secret  # nosec B105
DEFAULT_SECONDS = 900
MIN_SECONDS, MAX_SECONDS = 60, 3600
# A websocket's subprotocol may hold no colon, which is Django's usual separator.
_signer = Signer(sep=".", salt="assistant.end-user-token")


@dataclass(frozen=True, slots=True)
class Visitor:
    """The end user that a token speaks for, at which assistant, and until when."""

    member: Member
    assistant_id: int
    until: datetime


def is_token(credentials: str) -> bool:
    """Whether credentials claim to be an end user's token rather than an API key."""
    return credentials.startswith(TOKEN_PREFIX)


def has_origins(*, tenant_id: int, assistant_id: int) -> bool:
    """Whether any page may show the assistant to end users."""
    return WidgetOrigin.objects.filter(tenant_id=tenant_id, assistant_id=assistant_id).exists()


@all_tenants()
def shows_any(*, tenant_slug: str, origin: str) -> bool:
    """Whether pages of an origin may show any assistant of a tenant."""
    return WidgetOrigin.objects.filter(tenant__slug=tenant_slug, tenant__is_active=True, origin=origin).exists()


def allow_origin(*, assistant: Assistant, origin: str) -> WidgetOrigin:
    """Let the pages of an origin show an assistant; one that may already stays. Raises `ValidationError`."""
    validate_origin(origin)
    row, _ = WidgetOrigin.objects.get_or_create(tenant_id=assistant.tenant_id, assistant=assistant, origin=origin)
    return row


def keep_end_user(*, tenant_id: int, external_id: str, name: str, context: Mapping[str, Any]) -> EndUser:
    """The tenant's end user of this id, made if this is their first visit; name and context are as given now."""
    try:
        return _keep(tenant_id, external_id, name, context)
    except IntegrityError:
        # Made in this very moment by another request.
        return _keep(tenant_id, external_id, name, context)


@transaction.atomic
def _keep(tenant_id: int, external_id: str, name: str, context: Mapping[str, Any]) -> EndUser:
    known = EndUser.objects.filter(tenant_id=tenant_id, external_id=external_id).first()
    fields = {"name": name, "context": dict(context), "seen_at": timezone.now()}
    if known is not None:
        for field, value in fields.items():
            setattr(known, field, value)
        known.save(update_fields=list(fields))
        return known
    user = make_nameless_user("end-user")
    Membership.objects.create(tenant_id=tenant_id, user=user, role=Membership.Role.END_USER)
    return EndUser.objects.create(tenant_id=tenant_id, user=user, external_id=external_id, **fields)


def mint_token(*, end_user: EndUser, assistant: Assistant, key_id: int, seconds: int) -> tuple[str, datetime]:
    """A token for `end_user` to talk to `assistant`, and the moment at which it ends."""
    until = timezone.now().replace(microsecond=0) + timedelta(seconds=seconds)
    values = [end_user.tenant_id, assistant.pk, str(end_user.user_id), key_id, int(until.timestamp())]
    return sign_token(values), until


def sign_token(values: Sequence[object]) -> str:
    """The token of these values, which is the same each time."""
    return TOKEN_PREFIX + _signer.sign_object(list(values))


def values_of_token(token: str) -> list[Any]:
    """What a token of ours is made of. Raises `BadSignature` for any other."""
    values: list[Any] = _signer.unsign_object(token.removeprefix(TOKEN_PREFIX))
    return values


def visitor_by_token(*, token: str, tenant_slug: str, assistant_slug: str | None = None, origin: str) -> Visitor | None:
    """Whom a token lets in from a page of `origin`; None unless all that it is bound to still holds.

    `assistant_slug` is None where the token's own assistant is meant.
    """
    try:
        tenant_id, assistant_id, user_id, key_id, until = values_of_token(token)
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
    if assistant_slug is not None:
        allowed = allowed.filter(assistant__slug=assistant_slug)
    if ends_at <= timezone.now() or not allowed.exists():
        return None
    member = find_end_user(tenant_id=tenant_id, user_id=user_id, key_id=key_id, assistant_id=assistant_id)
    return Visitor(member, assistant_id, ends_at) if member else None


@transaction.atomic
def delete_end_user(*, end_user: EndUser) -> None:
    """Forget an end user: their conversations, runs and tokens go with them."""
    end_user.user.delete()
