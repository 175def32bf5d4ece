"""Counts the use of tenants and members against their quotas, in the database for all processes.

Each change locks the tenant's row first, the member's second, and both before rows of conversations and runs, so that
transactions cannot deadlock. A tenant without quotas costs no queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

from django.db import transaction
from django.db.models import Aggregate, BigIntegerField, Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from assistant.core.values.limits import Allowance
from assistant.core.values.quota_kinds import COUNTED, WINDOWS, Quota, Window, Windows, window_of
from assistant.models import QuotaUse, Run, ToolCall, UsageEntry
from assistant.models.runs import IS_ACTIVE
from assistant.services.tenancy.quotas import QuotaReached, Quotas
from assistant.services.tenant_events import QUOTA_REACHED, record_event
from assistant.services.text import format_timestamp
from assistant.toolkit.context import UserId

# Name of a limit -> the column that counts it, and its window.
COLUMNS: Mapping[str, tuple[str, Window]] = {
    name: (f"{window}_{what}", window) for name in COUNTED for what, window in [window_of(name)]
}
_BY_WINDOW: Mapping[Window, tuple[str, ...]] = {
    window: tuple(column for column, own in COLUMNS.values() if own == window) for window in WINDOWS
}
# What is counted of runs while they are open, and of the tokens and cost that are reserved for them until they end.
_OF_RUNS = ("messages", "tokens", "cost")
_RESERVED = ("tokens", "cost")
# The length that is assumed for an answer before it begins.
EXPECTED_OUTPUT_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will probably use, reserved until it ends: `messages` (1 or 0), `tokens`, and `cost` in millionths."""

    messages: int
    tokens: int
    cost: int


def reserve_run(*, tenant_id: int, user_id: UserId, quotas: Quotas, expected: Estimate) -> tuple[Allowance, ...]:
    """Count a run that is about to begin, in the caller's transaction.

    A quota of tokens or cost admits a run as long as a part of it is neither used nor reserved.

    Returns:
        What this run may use of each quota of tokens or cost.

    Raises:
        QuotaReached: a quota is used up; if several are, the one that resets last. The caller must roll back.
    """
    now = timezone.now()
    uses = _lock(tenant_id, user_id, quotas.counted, now)
    reached = [one for quota, use in uses for one in _reached(quota, use, now, messages=expected.messages)]
    if reached:
        raise max(reached, key=lambda one: one.resets_at or now)
    allowances = tuple(one for quota, use in uses for one in _allowances(quota, use, now))
    _count(uses, {what: getattr(expected, what) for what in _OF_RUNS})
    return allowances


def _columns(*wanted: str) -> list[tuple[str, str, Window]]:
    """Return the columns that count any of these, each with what it counts and its window."""
    counted = ((*window_of(name), column) for name, (column, _) in COLUMNS.items())
    return [(column, what, window) for what, window, column in counted if what in wanted]


def _count(uses: Iterable[tuple[Quota, QuotaUse]], more: Mapping[str, int]) -> None:
    """Add to locked counters, by what they count."""
    for _, use in uses:
        for column, what, _ in _columns(*more):
            setattr(use, column, getattr(use, column) + more[what])
        use.save()


def allowances_of_run(
    *, tenant_id: int, user_id: UserId, quotas: Quotas, reserved: tuple[int, int]
) -> tuple[Allowance, ...]:
    """Return what a run that is counted already may use of each quota of tokens or cost, in the caller's transaction.

    Args:
        reserved: the (tokens, cost) that are reserved for it.
    """
    now, (tokens, cost) = timezone.now(), reserved
    uses = _lock(tenant_id, user_id, quotas.counted, now)
    return tuple(
        Allowance(one.sentence, one.tokens and one.tokens + tokens, one.cost and one.cost + cost)
        for quota, use in uses
        for one in _allowances(quota, use, now)
    )


def reserve_calls(*, tenant_id: int, user_id: UserId, quotas: Quotas, count: int) -> tuple[int, QuotaReached | None]:
    """Count up to `count` tool calls that are about to run, in the caller's transaction.

    Returns:
        How many may run, and the quota that prevents more, or None.
    """
    names = [name for name in COUNTED if window_of(name)[0] == "tool_calls"]
    if not count or not any(getattr(quota, name) for quota in quotas.counted for name in names):
        return count, None
    now = timezone.now()
    uses = _lock(tenant_id, user_id, quotas.counted, now)
    left = [
        (max(0, limit - getattr(use, COLUMNS[name][0])), quota, name)
        for quota, use in uses
        for name in names
        if (limit := getattr(quota, name))
    ]
    least, short, name = min(left, key=lambda one: one[0])
    taken = min(count, least)
    _count(uses, {"tool_calls": taken})
    if taken == count:
        return taken, None
    return taken, QuotaReached(short, name, Windows.at(now).end(COLUMNS[name][1]))


def settle(
    *, tenant_id: int, user_id: UserId | None, began_at: datetime, reserved: tuple[int, int], spent: tuple[int, int]
) -> None:
    """Replace what was reserved for a run by what it used, each as (tokens, cost), in windows that are still current.

    A run counts towards the day and month in which it began. What is done for no member, with None as `user_id`, counts
    towards the tenant's quotas alone.
    """
    windows = Windows.at(began_at)
    more = {what: after - before for what, after, before in zip(_RESERVED, spent, reserved, strict=True)}
    if not any(more.values()):
        return
    changes = {
        column: _add_if_current(window, getattr(windows, window), column, more[what])
        for column, what, window in _columns(*_RESERVED)
    }
    for user in dict.fromkeys((None, user_id)):
        QuotaUse.objects.filter(Q(user=user), tenant_id=tenant_id).update(**changes)


def _add_if_current(window: str, began: datetime, column: str, more: int) -> Case:
    return Case(
        When(Q(**{f"{window}_at": began}), then=F(column) + Value(more)),
        default=F(column),
        output_field=BigIntegerField(),
    )


def reset_use(*, tenant_id: int) -> None:
    """Delete a tenant's counters after a change of its limits. They are recomputed from its stored runs."""
    QuotaUse.objects.filter(tenant_id=tenant_id).delete()


@transaction.atomic
def record_quota_reached(*, tenant_id: int, user_id: UserId, reached: QuotaReached) -> None:
    """Record when a quota first refused, and an event of the tenant, once per quota and window.

    The caller's transaction, that of the refused run, was rolled back.
    """
    _record_first_refusal(tenant_id, None if reached.scope == "tenant" else user_id, reached.quota)
    resets_at = format_timestamp(reached.resets_at or timezone.now())
    payload: dict[str, Any] = {"quota": reached.quota, "scope": reached.scope, "limit": reached.limit}
    whose = "" if reached.scope == "tenant" else str(user_id)
    if whose:
        payload["user"] = user_id
    record_event(
        tenant_id=tenant_id,
        event=QUOTA_REACHED,
        data={**payload, "resets_at": resets_at},
        event_key=f"{reached.scope} {whose} {reached.quota} {resets_at}",
    )


def _record_first_refusal(tenant_id: int, user_id: UserId | None, name: str) -> None:
    now = timezone.now()
    whose = QuotaUse.objects.filter(tenant_id=tenant_id, user=user_id)
    known = whose.first()
    if known is None:
        QuotaUse.objects.bulk_create([recounted(tenant_id, user_id, now)], ignore_conflicts=True)
    elif name in current_use(known, now).refused_at:
        return
    for use in whose.select_for_update():
        current_use(use, now).refused_at.setdefault(name, now.isoformat())
        use.save()


def current_use(use: QuotaUse, now: datetime) -> QuotaUse:
    """Return `use` with the counters of ended windows set to 0, and without the refusals in them."""
    windows = Windows.at(now)
    for window, columns in _BY_WINDOW.items():
        began = getattr(windows, window)
        # Never back to an earlier window: `now` was read before waiting for the row's lock.
        if getattr(use, f"{window}_at") < began:
            setattr(use, f"{window}_at", began)
            for column in columns:
                setattr(use, column, 0)
            use.refused_at = {name: at for name, at in use.refused_at.items() if COLUMNS[name][1] != window}
    return use


def _lock(tenant_id: int, user_id: UserId, quotas: Sequence[Quota], now: datetime) -> list[tuple[Quota, QuotaUse]]:
    """Return the counters of these quotas, created if missing and locked until the transaction ends."""
    whose: dict[str, UserId | None] = {"tenant": None, "member": user_id}
    users = [whose[quota.scope] for quota in quotas]
    rows = _rows(tenant_id, users)
    for user in users:
        if user not in rows:
            # The tenant's row is locked before a member's is created: another transaction that created the same member
            # row while holding the tenant's lock would deadlock with this one.
            QuotaUse.objects.bulk_create([recounted(tenant_id, user, now)], ignore_conflicts=True)
            rows |= _rows(tenant_id, [user])
    return [(quota, current_use(rows[whose[quota.scope]], now)) for quota in quotas]


def _rows(tenant_id: int, users: Sequence[UserId | None]) -> dict[UserId | None, QuotaUse]:
    wanted = Q(user__in=[user for user in users if user is not None])
    if None in users:
        wanted |= Q(user=None)
    rows = QuotaUse.objects.filter(wanted, tenant_id=tenant_id).order_by(F("user_id").asc(nulls_first=True))
    return {row.user_id: row for row in rows.select_for_update()}


def recounted(tenant_id: int, user_id: UserId | None, now: datetime) -> QuotaUse:
    """Return unsaved counters of a member, or of the tenant for None, computed from stored runs.

    A limit can be set in the middle of a month, when nothing was counted yet.
    """
    if user_id is None:
        return recounted_tenants([tenant_id], now)[tenant_id]
    return recounted_members(tenant_id, [user_id], now)[user_id]


def recounted_tenants(tenant_ids: Collection[int], now: datetime) -> dict[int, QuotaUse]:
    """Return unsaved counters of tenants by id, computed from stored runs, with as many queries for any number."""
    runs = Run.objects.filter(tenant__in=tenant_ids)
    usage = UsageEntry.objects.filter(tenant__in=tenant_ids)
    calls = ToolCall.objects.filter(tenant__in=tenant_ids)
    counters = _counters("tenant_id", runs, usage, calls, now)
    return {pk: QuotaUse(tenant_id=pk, **_began(now), **counters.get(pk, {})) for pk in tenant_ids}


def recounted_members(tenant_id: int, user_ids: Collection[UserId], now: datetime) -> dict[UserId, QuotaUse]:
    """Return unsaved counters of a tenant's members by id, as `recounted_tenants` does."""
    runs = Run.objects.filter(tenant_id=tenant_id, user__in=user_ids)
    usage = UsageEntry.objects.filter(tenant_id=tenant_id, user__in=user_ids)
    of_members = Q(run__user__in=user_ids) | Q(run=None, user__in=user_ids)
    calls = ToolCall.objects.filter(of_members, tenant_id=tenant_id)
    counters = _counters("user_id", runs, usage, calls, now)
    return {pk: QuotaUse(tenant_id=tenant_id, user_id=pk, **_began(now), **counters.get(pk, {})) for pk in user_ids}


def _began(now: datetime) -> dict[str, datetime]:
    windows = Windows.at(now)
    return {f"{window}_at": getattr(windows, window) for window in WINDOWS}


def _counters(
    owner: str, runs: QuerySet[Run], usage: QuerySet[UsageEntry], calls: QuerySet[ToolCall], now: datetime
) -> dict[Any, dict[str, int]]:
    """Return the counters of each `owner`, a column, of these rows; of owners without rows none."""
    windows = Windows.at(now)
    # Calls of runs have no user of their own.
    caller = F(owner) if owner == "tenant_id" else Coalesce("run__user_id", "user_id")
    amounts = {"tokens": F("input_tokens") + F("output_tokens"), "cost": F("cost")}
    made = calls.exclude(status=ToolCall.Status.REFUSED)
    sums = (
        _by_owner(runs, F(owner), "started_at", windows, {"messages": partial(Count, "pk")}),
        _by_owner(made, caller, "started_at", windows, {"tool_calls": partial(Count, "pk")}),
        _by_owner(usage, F(owner), "created_at", windows, {what: partial(Sum, amounts[what]) for what in amounts}),
        _sums(
            runs.filter(IS_ACTIVE), F(owner), {one: Sum(f"reserved_{what}") for one, what, _ in _columns(*_RESERVED)}
        ),
    )
    found: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in chain.from_iterable(sums):
        whose = row.pop("owner")
        for column, number in row.items():
            found[whose][column] += int(number or 0)
    return found


def _by_owner(
    rows: QuerySet[Any], owner: Any, moment: str, windows: Windows, counts: Mapping[str, Callable[..., Aggregate]]
) -> Iterable[dict[str, Any]]:
    """Return what is counted of rows by their owner, for each window that it is counted in."""
    columns = _columns(*counts)
    later = {window: Q(**{f"{moment}__gte": getattr(windows, window)}) for _, _, window in columns}
    rows = rows.filter(**{f"{moment}__gte": min(getattr(windows, window) for window in later)})
    return _sums(rows, owner, {column: counts[what](filter=later[window]) for column, what, window in columns})


def _sums(rows: QuerySet[Any], owner: Any, sums: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Return the sums of rows by their owner."""
    found: QuerySet[Any, dict[str, Any]] = rows.order_by().annotate(owner=owner).values("owner").annotate(**sums)
    return found


def _reached(quota: Quota, use: QuotaUse, now: datetime, *, messages: int) -> list[QuotaReached]:
    """Return the quotas that are used up for a run with `messages`; tool calls are counted when they are made."""
    counted = _OF_RUNS if messages else _RESERVED
    names = [name for name in COLUMNS if getattr(quota, name) and window_of(name)[0] in counted]
    windows = Windows.at(now)
    return [
        QuotaReached(quota, name, windows.end(COLUMNS[name][1]))
        for name in names
        if getattr(use, COLUMNS[name][0]) >= getattr(quota, name)
    ]


def _allowances(quota: Quota, use: QuotaUse, now: datetime) -> list[Allowance]:
    windows, found = Windows.at(now), []
    for name, (column, window) in COLUMNS.items():
        what, _ = window_of(name)
        if what in _RESERVED and (limit := getattr(quota, name)):
            sentence = str(QuotaReached(quota, name, windows.end(window)))
            found.append(Allowance(sentence, **{what: limit - getattr(use, column)}))
    return found
