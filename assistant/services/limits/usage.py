"""What was used: written down run by run, and counted by day, by model and by assistant."""

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
from assistant.services.db.prepared_writes import PreparedInsert
from assistant.services.limits.quota_ledger import settle
from assistant.services.run_key import RunKey
from assistant.services.tenancy.members import Member

# Beyond these nothing was used, and some moments have no name in some time zones.
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9998, 12, 30)
_ENTRIES = PreparedInsert(UsageEntry)
By = Literal["day", "model", "assistant"]
_NAMES: Mapping[By, Callable[[ZoneInfo], Combinable]] = {
    "day": lambda zone: TruncDate("created_at", tzinfo=zone),
    "model": lambda _zone: F("model"),
    "assistant": lambda _zone: F("assistant__slug"),
}


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What one day, model or assistant took; `name` is its ISO date, its name or its slug."""

    name: str
    runs: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int


def write_usage(*, key: RunKey, usage: Mapping[tuple[str, str], Usage]) -> None:
    """Write down what models took for a run, by provider and model."""
    _ENTRIES.insert_all(
        [
            UsageEntry(
                tenant_id=key.tenant_id,
                user_id=key.user_id,
                assistant_id=key.assistant_id,
                run_id=key.pk,
                provider=provider,
                model=model,
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
                cached_input_tokens=spent.cached_input_tokens,
                reasoning_tokens=spent.reasoning_tokens,
                cost=spent.cost,
                is_estimated=spent.is_estimated,
            )
            for (provider, model), spent in usage.items()
        ]
    )


def settle_usage(*, key: RunKey, total: Usage) -> None:
    """Put what a run took in the place of what its quotas held for it, if they do; in the transaction that ends it."""
    if any(key.reserved):
        settle(
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            began_at=key.began_at,
            reserved=key.reserved,
            spent=(total.total_tokens, total.cost),
        )


@transaction.atomic
def add_usage(*, key: RunKey, usage: Mapping[tuple[str, str], Usage]) -> None:
    """Count what was taken for a run after its end, such as for a summary."""
    total = sum(usage.values(), Usage())
    if any(key.reserved):
        spent = (total.total_tokens, total.cost)
        settle(tenant_id=key.tenant_id, user_id=key.user_id, began_at=key.began_at, reserved=(0, 0), spent=spent)
    write_usage(key=key, usage=usage)
    Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).update(
        input_tokens=F("input_tokens") + total.input_tokens, output_tokens=F("output_tokens") + total.output_tokens
    )


def usage_lines(*, member: Member, since: date, until: date, by: By, of_tenant: bool = False) -> list[UsageLine]:
    """The usage from `since` to `until`, both days included, in the tenant's time zone.

    It is the member's own, or the whole tenant's, which the caller lets only its admins ask for.
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
        reasoning_tokens=row["reasoning_sum"],
    )
