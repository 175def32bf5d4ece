"""Which days of which tenants a report reads from sums, and what it reads from the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings

from assistant.contrib.panel.models import SummedTenant
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Tenant

# Sums that end earlier than so many days ago are left alone, since the rows of all days after them would be read.
MAX_BEHIND = 3


@dataclass(frozen=True, slots=True)
class SummedDays:
    """The days that have sums.

    Attributes:
        tenants: those that have sums of all days up to `through`.
        through: the last day, at most that of the report.
        others: those of which all rows are read; None if there are none.
    """

    tenants: TenantFilter
    through: date
    others: TenantFilter | None


def summed_days(*, tenants: TenantFilter, zone: str, first: date, last: date, today: date) -> SummedDays | None:
    """Return which of the days from `first` to `last` have sums in a time zone; None if none have.

    At most two queries.

    Args:
        today: in the zone; it has no sum, and neither have days of which some runs go on.
    """
    if not settings.ASSISTANT_PANEL_SUMS:
        return None
    wanted = min(last, today - timedelta(days=MAX_BEHIND))
    rows = tenants.rows(SummedTenant.objects.filter(zone=zone, through__gte=wanted))
    ends = dict(rows.order_by().values_list("tenant_id", "through"))
    through = min((end for end in ends.values() if end is not None), default=None)
    if through is None or through < first:
        return None
    summed = frozenset(ends)
    others = _ids(tenants) - summed
    return SummedDays(
        tenants=tenants if not others else TenantFilter(summed),
        through=min(through, last),
        others=TenantFilter(frozenset(others)) if others else None,
    )


def _ids(tenants: TenantFilter) -> set[int]:
    return set(Tenant.objects.values_list("pk", flat=True)) if tenants.ids is None else set(tenants.ids)
