"""What was used: runs and tokens by day, by model and by assistant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from django.db.models import Count, F, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import TruncDate

from assistant.models import UsageEntry
from assistant.services.members import Member

# Beyond these nothing was used, and some moments have no name in some time zones.
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9998, 12, 30)
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
