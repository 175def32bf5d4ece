"""Counts what tenants and members use against their quotas, in the database, for all processes.

Every change locks the tenant's row first and the member's second, and both before the rows of conversations and runs,
so that nobody waits in a circle. Without a quota nothing is counted, and nothing asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, Case, F, Q, QuerySet, Sum, Value, When
from django.utils import timezone

from assistant.core.values.limits import Allowance
from assistant.core.values.quota_kinds import COUNTED, WINDOWS, Quota, Window, Windows, window_of
from assistant.models import QuotaUse, Run, ToolCall, UsageEntry, Webhook
from assistant.services.tenancy.quotas import QuotaReached, Quotas
from assistant.services.text import written
from assistant.services.webhooks.events import tell
from assistant.toolkit.context import UserId

# By the name of a limit: the column that is held against it, and its window.
COLUMNS: Mapping[str, tuple[str, Window]] = {
    name: (f"{window}_{what}", window) for name in COUNTED for what, window in [window_of(name)]
}
_BY_WINDOW: Mapping[Window, tuple[str, ...]] = {
    window: tuple(column for column, own in COLUMNS.values() if own == window) for window in WINDOWS
}
# What a run takes at the very least before anything of it is known, and what its first answer is expected to have.
EXPECTED_OUTPUT = 1_000


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run is expected to take, which its quotas hold until it has ended. `messages` is 1 or 0."""

    messages: int
    tokens: int
    cost: int


def take_run(*, tenant_id: int, user_id: UserId, quotas: Quotas, expected: Expected) -> tuple[Allowance, ...]:
    """Count a run that is about to begin, in the caller's transaction.

    A quota of tokens or cost lets a run in as long as anything is left of it that no running run is expected to take.

    Returns:
        What is left of each quota of tokens or cost to this run.

    Raises:
        QuotaReached: something is used up; of several that which lasts longest. The caller's transaction must not stay.
    """
    now = timezone.now()
    uses = _locked(tenant_id, user_id, quotas.counted, now)
    reached = [one for quota, use in uses for one in _reached(quota, use, now, messages=expected.messages)]
    if reached:
        raise max(reached, key=lambda one: one.resets_at or now)
    allowances = tuple(one for quota, use in uses for one in _allowances(quota, use, now))
    for _, use in uses:
        use.minute_messages += expected.messages
        use.day_messages += expected.messages
        use.day_tokens += expected.tokens
        use.month_tokens += expected.tokens
        use.day_cost += expected.cost
        use.month_cost += expected.cost
        use.save()
    return allowances


def take_calls(*, tenant_id: int, user_id: UserId, quotas: Quotas, count: int) -> tuple[int, QuotaReached | None]:
    """Count tool calls that are about to run, in the caller's transaction, as many of `count` as there are left.

    Returns:
        How many may run, and why no more.
    """
    counted = tuple(quota for quota in quotas.counted if quota.tool_calls_per_day)
    if not counted or not count:
        return count, None
    now = timezone.now()
    uses = _locked(tenant_id, user_id, quotas.counted, now)
    left = {
        quota.scope: max(0, quota.tool_calls_per_day - use.day_tool_calls) for quota, use in uses if quota in counted
    }
    taken = min(count, *left.values())
    for _, use in uses:
        use.day_tool_calls += taken
        use.save()
    if taken == count:
        return taken, None
    short = next(quota for quota in counted if left[quota.scope] == taken)
    return taken, QuotaReached(short, "tool_calls_per_day", Windows.at(now).end("day"))


def settle(
    *, tenant_id: int, user_id: UserId, began_at: datetime, reserved: tuple[int, int], spent: tuple[int, int]
) -> None:
    """Replace what a run was expected to take by what it took, each as (tokens, cost), where it is still counted.

    A run counts to the day and the month that it began in.
    """
    windows = Windows.at(began_at)
    tokens, cost = spent[0] - reserved[0], spent[1] - reserved[1]
    if not tokens and not cost:
        return
    of_tenant, of_member = Q(user=None), Q(user=user_id)
    for scope in (of_tenant, of_member):
        QuotaUse.objects.filter(scope, tenant_id=tenant_id).update(
            day_tokens=_if("day", windows.day, "day_tokens", tokens),
            day_cost=_if("day", windows.day, "day_cost", cost),
            month_tokens=_if("month", windows.month, "month_tokens", tokens),
            month_cost=_if("month", windows.month, "month_cost", cost),
        )


def _if(window: str, began: datetime, column: str, more: int) -> Case:
    return Case(
        When(Q(**{f"{window}_at": began}), then=F(column) + Value(more)),
        default=F(column),
        output_field=BigIntegerField(),
    )


def forget(*, tenant_id: int) -> None:
    """Let a tenant's uses be counted anew from what is stored, as its limits have changed."""
    QuotaUse.objects.filter(tenant_id=tenant_id).delete()


@transaction.atomic
def tell_reached(*, tenant_id: int, user_id: UserId, reached: QuotaReached) -> None:
    """Tell the tenant's webhooks, once in each window; in a transaction of its own, as what was refused has none."""
    resets_at = written(reached.resets_at or timezone.now())
    facts: dict[str, Any] = {"quota": reached.quota, "scope": reached.scope, "limit": reached.limit}
    whose = "" if reached.scope == "tenant" else str(user_id)
    if whose:
        facts["user"] = user_id
    tell(
        tenant_id=tenant_id,
        event=Webhook.Event.QUOTA_REACHED,
        facts={**facts, "resets_at": resets_at},
        once=f"{reached.scope} {whose} {reached.quota} {resets_at}",
    )


def present_use(use: QuotaUse, now: datetime) -> QuotaUse:
    """The same with what was counted in windows that are over set to nothing."""
    windows = Windows.at(now)
    for window, columns in _BY_WINDOW.items():
        began = getattr(windows, window)
        # Never backwards: who waited for the row's lock may still be in the window before.
        if getattr(use, f"{window}_at") < began:
            setattr(use, f"{window}_at", began)
            for column in columns:
                setattr(use, column, 0)
    return use


def _locked(tenant_id: int, user_id: UserId, quotas: Sequence[Quota], now: datetime) -> list[tuple[Quota, QuotaUse]]:
    """The rows of these quotas as they are now, locked until the transaction ends; made where there are none."""
    whose: dict[str, UserId | None] = {"tenant": None, "member": user_id}
    users = [whose[quota.scope] for quota in quotas]
    rows = _rows(tenant_id, users)
    for user in users:
        if user not in rows:
            # The tenant's is locked before a member's is made: who makes that too, and holds the tenant's, would wait
            # for us, and we for him.
            QuotaUse.objects.bulk_create([_counted_anew(tenant_id, user, now)], ignore_conflicts=True)
            rows |= _rows(tenant_id, [user])
    return [(quota, present_use(rows[whose[quota.scope]], now)) for quota in quotas]


def _rows(tenant_id: int, users: Sequence[UserId | None]) -> dict[UserId | None, QuotaUse]:
    wanted = Q(user__in=[user for user in users if user is not None])
    if None in users:
        wanted |= Q(user=None)
    rows = QuotaUse.objects.filter(wanted, tenant_id=tenant_id).order_by(F("user_id").asc(nulls_first=True))
    return {row.user_id: row for row in rows.select_for_update()}


def _counted_anew(tenant_id: int, user_id: UserId | None, now: datetime) -> QuotaUse:
    """A row as what is stored says: limits can be set in the middle of a month."""
    windows = Windows.at(now)
    runs, usage = Run.objects.filter(tenant_id=tenant_id), UsageEntry.objects.filter(tenant_id=tenant_id)
    calls = ToolCall.objects.filter(tenant_id=tenant_id, started_at__gte=windows.day)
    if user_id is not None:
        runs, usage = runs.filter(user_id=user_id), usage.filter(user_id=user_id)
        calls = calls.filter(Q(run__user_id=user_id) | Q(run=None, user_id=user_id))
    running = _sums(runs.filter(status=Run.Status.RUNNING), "reserved_tokens", "reserved_cost")
    today, month = (_spent(usage, since) for since in (windows.day, windows.month))
    return QuotaUse(
        tenant_id=tenant_id,
        user_id=user_id,
        minute_at=windows.minute,
        minute_messages=runs.filter(started_at__gte=windows.minute).count(),
        day_at=windows.day,
        day_messages=runs.filter(started_at__gte=windows.day).count(),
        day_tokens=today[0] + running[0],
        day_cost=today[1] + running[1],
        day_tool_calls=calls.exclude(status=ToolCall.Status.REFUSED).count(),
        month_at=windows.month,
        month_tokens=month[0] + running[0],
        month_cost=month[1] + running[1],
    )


def _spent(usage: QuerySet[UsageEntry], since: datetime) -> tuple[int, int]:
    tokens_in, tokens_out, cost = _sums(usage.filter(created_at__gte=since), "input_tokens", "output_tokens", "cost")
    return tokens_in + tokens_out, cost


def _sums(rows: QuerySet[Any], *columns: str) -> list[int]:
    found = rows.aggregate(**{f"sum_of_{column}": Sum(column, default=0) for column in columns})
    return [int(found[f"sum_of_{column}"]) for column in columns]


def _reached(quota: Quota, use: QuotaUse, now: datetime, *, messages: int) -> list[QuotaReached]:
    """What is used up for a run with so many messages; calls of tools are asked for when they are made."""
    names = [name for name in COLUMNS if getattr(quota, name) and name != "tool_calls_per_day"]
    if not messages:
        names = [name for name in names if not name.startswith("messages")]
    windows = Windows.at(now)
    return [
        QuotaReached(quota, name, windows.end(COLUMNS[name][1]))
        for name in names
        if getattr(use, COLUMNS[name][0]) >= getattr(quota, name)
    ]


def _allowances(quota: Quota, use: QuotaUse, now: datetime) -> list[Allowance]:
    windows, found = Windows.at(now), []
    for name in ("tokens_per_day", "tokens_per_month", "cost_per_day", "cost_per_month"):
        if limit := getattr(quota, name):
            column, window = COLUMNS[name]
            sentence = str(QuotaReached(quota, name, windows.end(window)))
            left = limit - getattr(use, column)
            found.append(Allowance(sentence, **{"cost" if name.startswith("cost") else "tokens": left}))
    return found
