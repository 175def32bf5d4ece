"""Makes the sums of a tenant's day from its runs, ratings, calls and usage; as often as wanted, with one result."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Min, Q, Sum
from django.db.models.functions import Substr

from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.languages import LOOKED_AT, language_of
from assistant.contrib.insights.services.measures import SUMMED
from assistant.models import Feedback, Message, Run, ToolCall, UsageEntry
from assistant.models.runs import ACTIVE

# Runs that are read at once.
CHUNK = 1_000
FAILED_RUNS = (Run.Status.FAILED, Run.Status.INTERRUPTED)
FAILED_CALLS = (ToolCall.Status.ERROR, ToolCall.Status.TIMEOUT, ToolCall.Status.UNKNOWN, ToolCall.Status.INTERRUPTED)
# The tool that searches documents, and what its result has if nothing was found.
SEARCH = "search_docs"
NOTHING_FOUND = '"results":[]'


class Key(NamedTuple):
    """What one row of sums is about."""

    assistant_id: int
    prompt_number: int
    provider: str
    model: str
    tool: str
    language: str


def sum_day(*, tenant_id: int, day: date, keeps_larger: bool = False) -> int:
    """Replace the sums of a tenant's day by those of the rows that are there; return the number of runs.

    Args:
        keeps_larger: leave the sums of a day of which they count more runs than are still there, because retention or
            people have deleted some.
    """
    sums: dict[Key, Counter[str]] = defaultdict(Counter)
    runs = 0
    for rows in _chunks(tenant_id, day):
        runs += len(rows)
        _add(sums, tenant_id, rows)
    with transaction.atomic():
        stored = DaySum.objects.filter(tenant_id=tenant_id, day=day)
        if keeps_larger and runs < (stored.filter(tool="").aggregate(runs=Sum("runs"))["runs"] or 0):
            return runs
        stored.delete()
        DaySum.objects.bulk_create(
            [DaySum(tenant_id=tenant_id, day=day, **key._asdict(), **counts) for key, counts in sums.items()],
            batch_size=500,
        )
    return runs


def _chunks(tenant_id: int, day: date) -> Iterator[Sequence[Any]]:
    begin = datetime.combine(day, time.min, UTC)
    rows = Run.objects.filter(
        tenant_id=tenant_id,
        is_test=False,
        conversation__is_temporary=False,
        started_at__gte=begin,
        started_at__lt=begin + timedelta(days=1),
    )
    ended = rows.exclude(status__in=ACTIVE).select_related("prompt_version").order_by("pk")
    fields = (
        "status", "assistant_id", "prompt_version__number", "provider_name", "model", "fallback_provider",
        "fallback_model", "first_token_ms", "started_at", "ended_at", "conversation_id",
    )  # fmt: skip
    last = 0
    while chunk := list(ended.filter(pk__gt=last).only(*fields)[:CHUNK]):
        last = chunk[-1].pk
        yield chunk


def _add(sums: dict[Key, Counter[str]], tenant_id: int, runs: Sequence[Any]) -> None:
    ids = [run.pk for run in runs]
    ratings = _grouped(
        Feedback.objects.filter(tenant_id=tenant_id, message__run__in=ids), "message__run",
        up=Count("pk", filter=Q(rating=Feedback.Rating.UP)), down=Count("pk", filter=Q(rating=Feedback.Rating.DOWN)),
    )  # fmt: skip
    costs = _grouped(UsageEntry.objects.filter(tenant_id=tenant_id, run__in=ids), "run", cost=Sum("cost"))
    messages = Message.objects.filter(run__in=ids, conversation__tenant_id=tenant_id)
    cut = set(messages.filter(is_partial=True).exclude(cut_reason="").values_list("run_id", flat=True))
    edited, again = _branched(runs, messages)
    languages = _languages(runs, tenant_id)
    calls: dict[int, dict[str, Counter[str]]] = defaultdict(dict)
    for row in (
        ToolCall.objects.filter(tenant_id=tenant_id, run__in=ids)
        .order_by()
        .values("run_id", "name")
        .annotate(
            calls=Count("pk"),
            failed=Count("pk", filter=Q(status__in=FAILED_CALLS)),
            refused=Count("pk", filter=Q(status=ToolCall.Status.REFUSED)),
            empty=Count("pk", filter=Q(name=SEARCH, result__contains=NOTHING_FOUND)),
        )
    ):
        calls[row["run_id"]][row["name"]] = Counter(
            {name: row[name] for name in ("calls", "failed", "refused", "empty")}
        )
    for run in runs:
        of_run = calls.get(run.pk, {})
        search = of_run.get(SEARCH)
        counts = Counter(
            runs=1,
            thumbs_up=ratings[run.pk].get("up", 0),
            thumbs_down=ratings[run.pk].get("down", 0),
            asked_again=int(run.pk in again),
            edited=int(run.pk in edited),
            stopped=int(run.status == Run.Status.CANCELLED),
            failed=int(run.status in FAILED_RUNS),
            cut=int(run.pk in cut),
            refused=int(any(one["refused"] for one in of_run.values())),
            nothing_found=int(search is not None and search["calls"] == search["empty"]),
            cost=costs[run.pk].get("cost") or 0,
            **_times(run),
        )
        version = run.prompt_version
        key = Key(
            run.assistant_id,
            version.number if version is not None else 0,
            run.fallback_provider or run.provider_name,
            run.fallback_model or run.model,
            "",
            languages.get(run.pk, ""),
        )
        sums[key].update(counts)
        for name, one in of_run.items():
            sums[key._replace(tool=name)].update({**counts, "calls": one["calls"], "failed_calls": one["failed"]})


def _languages(runs: Sequence[Any], tenant_id: int) -> dict[int, str]:
    """Return the languages in which runs were asked; a run without a question has that of its conversation's first."""
    asked = Message.objects.filter(
        conversation__tenant_id=tenant_id,
        conversation__in={run.conversation_id for run in runs},
        role=Message.Role.USER,
    )
    beginnings = asked.order_by("-position").annotate(beginning=Substr("content", 1, LOOKED_AT))
    by_run: dict[int, str] = {}
    by_conversation: dict[Any, str] = {}
    for run_id, conversation_id, beginning in beginnings.values_list("run_id", "conversation_id", "beginning"):
        by_run[run_id] = by_conversation[conversation_id] = language_of(beginning)
    return {run.pk: by_run.get(run.pk, by_conversation.get(run.conversation_id, "")) for run in runs}


def _times(run: Any) -> dict[str, int]:
    """Return the answer of a run and its times; nothing of a run without an answer."""
    if run.status != Run.Status.FINISHED:
        return {}
    whole = max(0, round((run.ended_at - run.started_at).total_seconds() * 1_000)) if run.ended_at else 0
    first = run.first_token_ms
    return {"answers": 1, "whole_ms": whole, "first_word_runs": int(first is not None), "first_word_ms": first or 0}


def _branched(runs: Sequence[Any], messages: Any) -> tuple[set[int], set[int]]:
    """Return the runs that begin a branch of their conversation: with a changed question, and with another answer."""
    first = {
        row["run_id"]: row["position"]
        for row in messages.exclude(conversation__branches=[])
        .order_by()
        .values("run_id")
        .annotate(position=Min("position"))
    }
    if not first:
        return set(), set()
    starts = messages.filter(position__in=set(first.values()), run__in=list(first))
    edited: set[int] = set()
    again: set[int] = set()
    for run_id, position, role, branches in starts.values_list("run_id", "position", "role", "conversation__branches"):
        if first[run_id] == position and any(start == position for start, _after in branches):
            (edited if role == Message.Role.USER else again).add(run_id)
    return edited, again


def _grouped(rows: Any, by: str, **sums: Any) -> defaultdict[int, dict[str, int]]:
    found: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for row in rows.order_by().values(by).annotate(**sums):
        found[row[by]] = row
    return found


def empty_sums() -> dict[str, int]:
    """Return sums of nothing."""
    return dict.fromkeys(SUMMED, 0)
