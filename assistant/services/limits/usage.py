"""Stores the tokens and cost that runs used, and sums them by day, model or assistant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Count, F, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import TruncDate

from assistant.core.values.messages import Usage
from assistant.models import Run, UsageEntry
from assistant.services.limits.quota_ledger import settle
from assistant.services.run_key import RunKey
from assistant.services.tenancy.members import Member

# Dates beyond these overflow in some time zones.
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9998, 12, 30)
By = Literal["day", "model", "assistant"]
_NAMES: Mapping[By, Callable[[ZoneInfo], Combinable]] = {
    "day": lambda zone: TruncDate("created_at", tzinfo=zone),
    "model": lambda _zone: F("model"),
    "assistant": lambda _zone: F("assistant__slug"),
}


@dataclass(frozen=True, slots=True)
class UsageLine:
    """The usage of one day, model or assistant; `name` is the ISO date, model name or slug."""

    name: str
    runs: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


def write_usage(
    *,
    key: RunKey,
    usage: Mapping[tuple[str, str], Usage],
    purpose: UsageEntry.Purpose = UsageEntry.Purpose.ANSWER,
    has_run: bool = True,
) -> None:
    """Store what a run used, by provider and model; without `has_run` it was deleted meanwhile."""
    UsageEntry.objects.bulk_create(
        [
            UsageEntry(
                tenant_id=key.tenant_id,
                user_id=key.user_id,
                assistant_id=key.assistant_id,
                run_id=key.pk if has_run else None,
                provider=provider,
                model=model,
                purpose=purpose,
                **columns_of(spent),
                is_test=key.is_test,
            )
            for (provider, model), spent in usage.items()
        ]
    )


@transaction.atomic
def add_usage(
    *,
    key: RunKey,
    usage: Mapping[tuple[str, str], Usage],
    purpose: UsageEntry.Purpose = UsageEntry.Purpose.ANSWER,
) -> None:
    """Add usage to a run that has ended, such as that of a summary."""
    total = sum(usage.values(), Usage())
    if any(key.reserved):
        spent = (total.total_tokens, total.cost)
        settle(tenant_id=key.tenant_id, user_id=key.user_id, began_at=key.began_at, reserved=(0, 0), spent=spent)
    of_run = Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).update(
        input_tokens=F("input_tokens") + total.input_tokens, output_tokens=F("output_tokens") + total.output_tokens
    )
    write_usage(key=key, usage=usage, purpose=purpose, has_run=bool(of_run))


def usage_lines(*, member: Member, since: date, until: date, by: By, of_tenant: bool = False) -> list[UsageLine]:
    """Return the usage from `since` to `until`, both included, as days of the tenant's time zone.

    `of_tenant` sums all members' usage, which the caller may only show to the tenant's admins.
    """
    zone = ZoneInfo(member.tenant.timezone)
    since, until = max(since, FIRST_DAY), min(until, LAST_DAY)
    entries = UsageEntry.objects.filter(
        tenant_id=member.tenant_id,
        created_at__gte=datetime.combine(since, time.min, zone),
        created_at__lt=datetime.combine(until + timedelta(days=1), time.min, zone),
    )
    if not of_tenant:
        entries = entries.filter(user_id=member.user_id)
    lines = (
        entries.annotate(line=_NAMES[by](zone))
        .values("line")
        .annotate(
            runs=Count("run", distinct=True),
            input_sum=Sum("input_tokens"),
            output_sum=Sum("output_tokens"),
            cached_sum=Sum("cached_input_tokens"),
            written_sum=Sum("cache_write_tokens"),
            reasoning_sum=Sum("reasoning_tokens"),
        )
        .order_by("line")
    )
    return [_line(row) for row in lines]


def _line(row: Mapping[str, Any]) -> UsageLine:
    return UsageLine(
        name=str(row["line"] or ""),
        runs=row["runs"],
        input_tokens=row["input_sum"],
        output_tokens=row["output_sum"],
        cached_input_tokens=row["cached_sum"],
        cache_write_tokens=row["written_sum"],
        reasoning_tokens=row["reasoning_sum"],
    )


def columns_of(spent: Usage) -> dict[str, Any]:
    """Return the columns of a `UsageEntry` that say what was used."""
    return {
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cached_input_tokens": spent.cached_input_tokens,
        "reasoning_tokens": spent.reasoning_tokens,
        "cache_write_tokens": spent.cache_write_tokens,
        "cost": spent.cost,
        "is_estimated": spent.is_estimated,
    }
