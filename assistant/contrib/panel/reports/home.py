"""What the first page of the control panel reports: figures, thirty days, and the last changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from zoneinfo import ZoneInfo

from assistant.contrib.panel.reports.days import DAYS, Day, by_day, total
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import AuditEntry, Run, Tenant

CHANGES = 10
# Actions of the audit trail that are not changes.
NO_CHANGES = ("signin.success", "signin.failure", "signin.limited", "conversation.read")
# The medians are of the newest runs of these days, at most so many.
TIMED_DAYS, TIMED_RUNS = 7, 1_000


@dataclass(frozen=True, slots=True)
class HomeReport:
    """The figures of the first page.

    Attributes:
        days: the last `DAYS` days, today last.
        earlier: the `DAYS` days before them.
        month_cost: this month's cost, by the providers' prices.
        first_token: the median of seconds until the model's first token; None without such runs.
        whole_answer: the median of seconds until the end.
        has_tenants: whether there is any tenant.
    """

    days: tuple[Day, ...]
    earlier: tuple[Day, ...]
    month_cost: float
    first_token: float | None
    whole_answer: float | None
    has_tenants: bool

    @property
    def today(self) -> Day:
        return self.days[-1]

    @property
    def whole(self) -> Day:
        """The sums of all days."""
        return total(self.days)


def home_report(*, tenants: TenantFilter, now: datetime, zone: ZoneInfo) -> HomeReport:
    """Return the figures of these tenants, with the days of a time zone."""
    today = now.astimezone(zone).date()
    begin_of_month = today.replace(day=1)
    days = by_day(tenants=tenants, first=today - timedelta(days=2 * DAYS - 1), today=today, zone=zone)
    first_token, whole_answer = _medians(tenants, now)
    return HomeReport(
        days=tuple(days[-DAYS:]),
        earlier=tuple(days[:DAYS]),
        month_cost=total([day for day in days if day.date >= begin_of_month]).cost,
        first_token=first_token,
        whole_answer=whole_answer,
        has_tenants=bool(days[-1].runs) or tenants.rows(Tenant.objects.all(), "pk").exists(),
    )


def _medians(tenants: TenantFilter, now: datetime) -> tuple[float | None, float | None]:
    since = now - timedelta(days=TIMED_DAYS)
    rows = list(
        tenants.rows(
            Run.objects.filter(status=Run.Status.FINISHED, is_test=False, started_at__gte=since, ended_at__isnull=False)
        )
        .order_by("-started_at")
        .values_list("first_token_ms", "started_at", "ended_at")[:TIMED_RUNS]
    )
    firsts = [first / 1000 for first, _, _ in rows if first is not None]
    wholes = [(ended - started).total_seconds() for _, started, ended in rows if ended is not None]
    return median(firsts) if firsts else None, median(wholes) if wholes else None


def last_changes(*, tenants: TenantFilter) -> Sequence[AuditEntry]:
    """Return the last `CHANGES` changes of the audit trail, in the order of an index that has no other rows.

    It records sign-ins and readings too, which change nothing.
    """
    order = ("-pk",) if tenants.ids is None else ("-created_at", "-pk")
    rows = AuditEntry.objects.exclude(action__in=NO_CHANGES).select_related("actor", "tenant").order_by(*order)
    return list(tenants.rows(rows)[:CHANGES])
