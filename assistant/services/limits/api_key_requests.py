"""Counts the requests of API keys against their limits a minute and a day, in the database for all processes.

A request is an HTTP request to any API, or a run started over a websocket.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from assistant.models import ApiKey, ApiKeyUse
from assistant.services.errors import Refused
from assistant.services.tenancy.members import KeyLimits, Member
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.tenant_events import QUOTA_REACHED, record_event
from assistant.services.text import format_timestamp

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


class TooManyRequests(Refused):
    """The key has reached a limit until `resets_at`; the message says so and can be shown to the user."""

    def __init__(self, limit: int, window: str, resets_at: datetime) -> None:
        sentence = (
            f"This key may send {limit} requests a {window}. It can send more from {format_timestamp(resets_at)} on."
        )
        super().__init__("quota_exceeded", sentence, resets_at=resets_at)


def count_request(*, member: Member) -> None:
    """Count a request that a member makes with an API key. A refused request is not counted.

    Raises:
        TooManyRequests: the key has reached its limit for this minute or day.
    """
    if member.limits is None or member.key_id is None:
        return
    # The tenant scope of the request is not set yet.
    with tenant_scope(member.tenant_id):
        _count(member, member.key_id, member.limits)


def _count(member: Member, key_id: int, limits: KeyLimits) -> None:
    now = timezone.now()
    minute, day = now.replace(second=0, microsecond=0), now.replace(hour=0, minute=0, second=0, microsecond=0)
    if _take(key_id, limits, minute, day):
        return
    use = ApiKeyUse.objects.get(key=key_id, key__tenant_id=member.tenant_id)
    per_day = limits.per_day
    if per_day is not None and use.day_at == day and use.day_count >= per_day:
        _record_event(key_id, member.tenant_id, per_day, day)
        raise TooManyRequests(per_day, "day", day + DAY)
    raise TooManyRequests(limits.per_minute or 0, "minute", minute + MINUTE)


def count_run(*, member: Member, limits: KeyLimits) -> None:
    """Count a run against the key's current `limits`; `member.limits` may be as old as the connection.

    Raises:
        TooManyRequests: the key has reached its limit for this minute or day.
    """
    if member.key_id is not None:
        _count(member, member.key_id, limits)


def _take(key_id: int, limits: KeyLimits, minute: datetime, day: datetime) -> bool:
    """Count one request in one statement; return False if the limit is reached."""
    if _update(key_id, limits, minute, day):
        return True
    if ApiKeyUse.objects.filter(key=key_id).exists():
        # Another request may have created the row meanwhile, with requests left.
        return _update(key_id, limits, minute, day)
    try:
        with transaction.atomic():
            ApiKeyUse.objects.create(key_id=key_id, minute_at=minute, minute_count=1, day_at=day, day_count=1)
    except IntegrityError:
        # Another request created the row first.
        return _update(key_id, limits, minute, day)
    return True


def _update(key_id: int, limits: KeyLimits, minute: datetime, day: datetime) -> bool:
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
def _record_event(key_id: int, tenant_id: int, limit: int, day: datetime) -> None:
    prefix = ApiKey.objects.values_list("prefix", flat=True).get(pk=key_id, tenant_id=tenant_id)
    payload = {"quota": "requests_per_day", "limit": limit, "resets_at": (day + DAY).isoformat(), "api_key": prefix}
    record_event(
        tenant_id=tenant_id,
        event=QUOTA_REACHED,
        data=payload,
        event_key=f"key {key_id} {day:%Y-%m-%d}",
    )
