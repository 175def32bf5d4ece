"""How many requests an API key may send in a minute and in a day, counted in the database for all processes.

A request is one over HTTP at any door, or a run that is started over a websocket.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from assistant.models import ApiKey, ApiKeyUse, Webhook
from assistant.services.errors import Refused
from assistant.services.tenancy.members import KeyLimits, Member
from assistant.services.tenancy.row_scope import tenants
from assistant.services.text import written
from assistant.services.webhooks.events import tell

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


class TooManyRequests(Refused):
    """The key has sent all that it may, until `resets_at`; the sentence says so, and can be shown."""

    def __init__(self, limit: int, window: str, resets_at: datetime) -> None:
        sentence = f"This key may send {limit} requests a {window}. It may send more from {written(resets_at)} on."
        super().__init__("quota_exceeded", sentence, resets_at=resets_at)


def spend(*, member: Member) -> None:
    """Count a request of the key that speaks for a member; one that is refused is not counted.

    Raises:
        TooManyRequests: the key has none left in this minute or day.
    """
    if member.limits is None or member.key_id is None:
        return
    # It is counted before the request enters the tenant.
    with tenants(member.tenant_id):
        _spend(member, member.key_id, member.limits)


def _spend(member: Member, key_id: int, limits: KeyLimits) -> None:
    now = timezone.now()
    minute, day = now.replace(second=0, microsecond=0), now.replace(hour=0, minute=0, second=0, microsecond=0)
    if _take(key_id, limits, minute, day):
        return
    use = ApiKeyUse.objects.get(key=key_id, key__tenant_id=member.tenant_id)
    per_day = limits.per_day
    if per_day is not None and use.day_at == day and use.day_count >= per_day:
        _tell(key_id, member.tenant_id, per_day, day)
        raise TooManyRequests(per_day, "day", day + DAY)
    raise TooManyRequests(limits.per_minute or 0, "minute", minute + MINUTE)


def spend_on_run(*, member: Member, limits: KeyLimits) -> None:
    """As `spend`, by the limits that the key has now: for connections, which outlive a change of them."""
    if member.key_id is not None:
        _spend(member, member.key_id, limits)


def _take(key_id: int, limits: KeyLimits, minute: datetime, day: datetime) -> bool:
    """Count one, in one statement; False if there is none left."""
    if _count(key_id, limits, minute, day):
        return True
    if ApiKeyUse.objects.filter(key=key_id).exists():
        # Another request's may have come first in this moment, and left room.
        return _count(key_id, limits, minute, day)
    try:
        with transaction.atomic():
            ApiKeyUse.objects.create(key_id=key_id, minute_at=minute, minute_count=1, day_at=day, day_count=1)
    except IntegrityError:
        # Another request's came first.
        return _count(key_id, limits, minute, day)
    return True


def _count(key_id: int, limits: KeyLimits, minute: datetime, day: datetime) -> bool:
    rows = ApiKeyUse.objects.filter(key=key_id)
    if limits.per_minute is not None:
        rows = rows.filter(~Q(minute_at=minute) | Q(minute_count__lt=limits.per_minute))
    if limits.per_day is not None:
        rows = rows.filter(~Q(day_at=day) | Q(day_count__lt=limits.per_day))
    return bool(
        rows.update(
            minute_count=Case(When(minute_at=minute, then=F("minute_count") + 1), default=Value(1)),
            minute_at=minute,
            day_count=Case(When(day_at=day, then=F("day_count") + 1), default=Value(1)),
            day_at=day,
        )
    )


@transaction.atomic
def _tell(key_id: int, tenant_id: int, limit: int, day: datetime) -> None:
    prefix = ApiKey.objects.values_list("prefix", flat=True).get(pk=key_id, tenant_id=tenant_id)
    facts = {"quota": "requests_per_day", "limit": limit, "resets_at": (day + DAY).isoformat(), "api_key": prefix}
    tell(
        tenant_id=tenant_id,
        event=Webhook.Event.QUOTA_REACHED,
        facts=facts,
        once=f"key {key_id} {day:%Y-%m-%d}",
    )
