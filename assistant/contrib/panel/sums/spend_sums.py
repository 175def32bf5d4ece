"""Makes the sums of what a tenant spent on a day."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from assistant.contrib.panel.models import SpendSum
from assistant.models import ToolCall, UsageEntry

Split = SpendSum.Split
_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens")
_READ = ("run_id", "user_id", "assistant_id", "provider", "model", "purpose", "is_test", "cost", *_TOKENS)


class Key(NamedTuple):
    """What one row is about."""

    split: str
    assistant_id: int | None = None
    user_id: Any = None
    provider: str = ""
    model: str = ""
    purpose: str = ""
    tools: str = ""


# What numbers of runs are the same in, by the ends of their names.
_SAME: Mapping[str, tuple[str, ...]] = {
    "": (),
    "_model": ("provider", "model"),
    "_purpose": ("purpose",),
    "_model_purpose": ("provider", "model", "purpose"),
}


def sum_spend(*, tenant_id: int, day: date) -> None:
    """Replace the sums of a tenant's day in UTC by those of the entries that are there."""
    begin = datetime.combine(day, time.min, UTC)
    of_tenant = UsageEntry.objects.filter(tenant=tenant_id).order_by()
    entries = of_tenant.filter(created_at__gte=begin, created_at__lt=begin + timedelta(days=1))
    tools = _tools(tenant_id, entries)
    sums: dict[Key, Counter[str]] = defaultdict(Counter)
    keys_of_runs: dict[int, set[Key]] = defaultdict(set)
    for entry in entries.values(*_READ).iterator():
        keys = _keys(entry, tools)
        for key in keys:
            sums[key].update(_columns(entry))
        if entry["run_id"] is not None and not entry["is_test"]:
            keys_of_runs[entry["run_id"]].update(keys)
    earlier: dict[int, set[Key]] = defaultdict(set)
    before = of_tenant.filter(created_at__gte=begin.replace(day=1), created_at__lt=begin, is_test=False)
    for entry in before.filter(run__in=entries.values("run")).values(*_READ):
        earlier[entry["run_id"]].update(_keys(entry, tools))
    for run_id, keys_of_run in keys_of_runs.items():
        _count_run(sums, keys_of_run, earlier.get(run_id, set()))
    with transaction.atomic():
        SpendSum.objects.filter(tenant=tenant_id, day=day).delete()
        SpendSum.objects.bulk_create(
            [SpendSum(tenant_id=tenant_id, day=day, **key._asdict(), **counts) for key, counts in sums.items()],
            batch_size=500,
        )


def _tools(tenant_id: int, entries: QuerySet[UsageEntry]) -> Mapping[int, str]:
    """Return the names of the tools that the runs of entries have called, as `SpendSum` stores them."""
    names: dict[int, set[str]] = defaultdict(set)
    calls = ToolCall.objects.filter(tenant=tenant_id, run__in=entries.values("run")).order_by()
    for run_id, name in calls.values_list("run_id", "name").distinct():
        names[run_id].add(name)
    return {run_id: json.dumps(sorted(called)) for run_id, called in names.items()}


def _keys(entry: Mapping[str, Any], tools: Mapping[int, str]) -> tuple[Key, ...]:
    """Return the rows in which an entry counts, one of each split."""
    assistant = entry["assistant_id"]
    used = {"provider": entry["provider"], "model": entry["model"], "purpose": entry["purpose"]}
    return (
        Key(Split.MODEL, assistant, **used),
        Key(Split.TOOL, assistant, **used, tools=tools.get(entry["run_id"], "[]")),
        Key(Split.PERSON, assistant, entry["user_id"]),
    )


def _columns(entry: Mapping[str, Any]) -> dict[str, int]:
    cost = entry["cost"]
    return {
        **{name: entry[name] for name in _TOKENS},
        "cost": cost,
        "test_cost": cost if entry["is_test"] else 0,
        "unpriced_tokens": 0 if cost else entry["input_tokens"] + entry["output_tokens"],
    }


def _count_run(sums: Mapping[Key, Counter[str]], keys: Iterable[Key], earlier: Iterable[Key]) -> None:
    """Count a run in the first of its rows that are the same in something; of the month unless it was there before."""
    for end, columns in _SAME.items():
        seen = {_projected(key, columns) for key in earlier}
        first: dict[tuple[Any, ...], Key] = {}
        for key in sorted(keys, key=str):
            first.setdefault(_projected(key, columns), key)
        for projected, key in first.items():
            sums[key][f"runs_day{end}"] += 1
            sums[key][f"runs_month{end}"] += int(projected not in seen)


def _projected(key: Key, columns: tuple[str, ...]) -> tuple[Any, ...]:
    return (key.split, *(getattr(key, name) for name in columns))
