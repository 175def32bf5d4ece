"""Records what searches of documents found, and what was disliked: from calls that have ended, in the background."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.utils import timezone

from assistant.contrib.gaps.models import OpenQuestion, ReachedDocument, RecordedTenant
from assistant.contrib.gaps.services.question_keys import key_of, shown_question
from assistant.models import Document, Feedback, Message, Tenant, ToolCall
from assistant.models.runs import ACTIVE
from assistant.services.jobs.recurring import recurs
from assistant.services.knowledge.sources import document_of

# The tools that search documents.
SEARCHES = ("search_docs", "search_collections")
# Tenants that one process records at once, calls of each, and how long a tenant rests.
MAX_TENANTS = 20
MAX_CALLS = 500
EVERY = timedelta(minutes=1)
# Calls of runs that have gone on for so long are recorded as they are.
LONGEST_RUN = timedelta(days=1)
# Answers are rated later than they are given.
RATED_FOR = timedelta(days=3)
MAX_RATED = 500
# Questions that are kept of a tenant; the oldest go.
MAX_QUESTIONS = 5_000
MAX_RESULT = 200_000
MAX_WORDINGS = 5


@dataclass(frozen=True, slots=True)
class Searched:
    """What a call has searched and found."""

    wordings: list[str]
    documents: frozenset[int]


@recurs("gaps.record", seconds=60.0, is_first_later=True)
def record_tenants() -> int:
    """Record the tenants with searches or ratings that are not recorded; return how many there were."""
    now = timezone.now()
    found = due_tenants(now=now)
    for tenant_id in found:
        record_tenant(tenant_id=tenant_id, now=now)
    return len(found)


def due_tenants(*, now: datetime) -> list[int]:
    """Return tenants with searches since they were recorded, or with ratings of the last days; one query."""
    own = RecordedTenant.objects.filter(tenant=OuterRef("pk"))
    calls = ToolCall.objects.filter(tenant=OuterRef("pk"), name__in=SEARCHES, started_at__lt=now)
    rated = Feedback.objects.filter(
        tenant=OuterRef("pk"), rating=Feedback.Rating.DOWN, created_at__gte=now - RATED_FOR, created_at__lt=now
    )
    tenants = Tenant.objects.annotate(
        to=Subquery(own.values("recorded_to")[:1]), at=Subquery(own.values("recorded_at")[:1])
    )
    fresh = Q(to=None) | Q(Exists(calls.filter(started_at__gte=OuterRef("to"))))
    disliked = Q(Exists(rated.filter(created_at__gte=OuterRef("at"))))
    has_any = Q(Exists(calls)) | Q(Exists(rated))
    rested = Q(at=None) | Q(at__lt=now - EVERY)
    due = tenants.filter(has_any, rested).filter(fresh | disliked).order_by("pk")
    return list(due.values_list("pk", flat=True)[:MAX_TENANTS])


@transaction.atomic
def record_tenant(*, tenant_id: int, now: datetime) -> None:
    """Record a tenant's searches that have ended and are not recorded yet, and its ratings of the last days.

    Nothing, if another process does.
    """
    last = RecordedTenant.objects.filter(tenant_id=tenant_id).first()
    since = last.recorded_to if last is not None else None
    rows = ToolCall.objects.filter(tenant_id=tenant_id, name__in=SEARCHES, started_at__lt=now)
    rows = rows.filter(started_at__gte=since) if since is not None else rows
    open_calls = rows.filter(run__status__in=ACTIVE, started_at__gte=now - LONGEST_RUN).order_by("started_at")
    until = open_calls.values_list("started_at", flat=True).first() or now
    # Calls over MCP have no run.
    kept = rows.filter(started_at__lt=until).exclude(run__is_test=True).exclude(run__conversation__is_temporary=True)
    calls = list(kept.order_by("started_at", "pk")[: MAX_CALLS + 1])
    if len(calls) > MAX_CALLS:
        # The calls of one moment stay together.
        until = calls[-1].started_at
        calls = [call for call in calls if call.started_at < until] or calls
        if calls[-1].started_at >= until:
            until += timedelta(microseconds=1)
    if not _claim(tenant_id, last, until, now):
        return
    searched = [(call, read_call(call)) for call in calls]
    _count_documents(tenant_id, (one for _call, one in searched), now)
    OpenQuestion.objects.bulk_create(_unanswered(tenant_id, searched), ignore_conflicts=True)
    OpenQuestion.objects.bulk_create(_disliked(tenant_id, now), ignore_conflicts=True)
    _drop_oldest(tenant_id)


def _claim(tenant_id: int, last: RecordedTenant | None, until: datetime, now: datetime) -> bool:
    values = {"recorded_to": until, "recorded_at": now}
    if last is not None:
        same = RecordedTenant.objects.filter(tenant_id=tenant_id, recorded_at=last.recorded_at)
        return bool(same.update(**values))
    try:
        with transaction.atomic():
            RecordedTenant.objects.create(tenant_id=tenant_id, **values)
    except IntegrityError:
        return False
    return True


def read_call(call: ToolCall) -> Searched:
    """Return what a call has searched and found; nothing where its texts are no JSON, or are deleted."""
    arguments = _object(call.arguments)
    queries = arguments.get("queries")
    wordings = [str(one)[:500] for one in queries[:MAX_WORDINGS]] if isinstance(queries, list) else []
    results = _object(call.result).get("results")
    ids = [one.get("source_id") for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    return Searched(wordings, frozenset(pk for one in ids if (pk := document_of(str(one))) is not None))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text[:MAX_RESULT]) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _count_documents(tenant_id: int, searched: Iterable[Searched], now: datetime) -> None:
    counts = Counter(pk for one in searched for pk in one.documents)
    there = Document.objects.filter(tenant_id=tenant_id, pk__in=counts).values_list("pk", flat=True)
    known = set(
        ReachedDocument.objects.filter(tenant_id=tenant_id, document__in=counts).values_list("document_id", flat=True)
    )
    for pk in sorted(there):
        if pk in known:
            row = ReachedDocument.objects.filter(tenant_id=tenant_id, document_id=pk)
            row.update(times=F("times") + counts[pk], last_at=now)
        else:
            ReachedDocument.objects.create(tenant_id=tenant_id, document_id=pk, times=counts[pk], last_at=now)


def _unanswered(tenant_id: int, searched: Sequence[tuple[ToolCall, Searched]]) -> list[OpenQuestion]:
    """Return an open question of each run, and of each call outside of runs, whose searches all found nothing."""
    last: dict[tuple[str, int], tuple[ToolCall, Searched]] = {}
    answered: set[tuple[str, int]] = set()
    for call, one in searched:
        key = ("call", call.pk) if call.run_id is None else ("run", call.run_id)
        if one.documents or call.status != ToolCall.Status.OK or not one.wordings:
            answered.add(key)
        last[key] = (call, one)
    left = {key: found for key, found in last.items() if key not in answered}
    asked = questions_of(tenant_id, [call.run_id for call, _one in left.values() if call.run_id is not None])
    rows = []
    for call, one in left.values():
        question = shown_question(asked.get(call.run_id or 0) or one.wordings[0])
        rows.append(
            OpenQuestion(
                tenant_id=tenant_id,
                kind=OpenQuestion.Kind.NOTHING,
                run_id=call.run_id,
                call=call,
                question=question,
                key=key_of(question),
                wordings=one.wordings,
                asked_at=call.started_at,
            )
        )
    return rows


def _disliked(tenant_id: int, now: datetime) -> list[OpenQuestion]:
    """Return an open question of each answer of the last days that was disliked, and for which documents were found."""
    known = OpenQuestion.objects.filter(tenant_id=tenant_id, feedback=OuterRef("pk"))
    rated = Feedback.objects.filter(
        tenant_id=tenant_id, rating=Feedback.Rating.DOWN, created_at__gte=now - RATED_FOR, message__run__isnull=False
    )
    rated = (
        rated.filter(message__run__is_test=False, message__conversation__is_temporary=False)
        .exclude(Exists(known))
        .order_by("created_at")
    )
    runs = dict(rated.values_list("message__run_id", "pk")[:MAX_RATED])
    calls = ToolCall.objects.filter(tenant_id=tenant_id, run__in=runs, name__in=SEARCHES).order_by("started_at", "pk")
    found: dict[int, tuple[ToolCall, Searched]] = {}
    for call in calls[: 10 * MAX_RATED]:
        one = read_call(call)
        if one.documents and call.run_id is not None:
            found[call.run_id] = (call, one)
    asked = questions_of(tenant_id, list(found))
    rows = []
    for run_id, (call, one) in found.items():
        question = shown_question(asked.get(run_id) or (one.wordings or [""])[0])
        if question:
            rows.append(
                OpenQuestion(
                    tenant_id=tenant_id,
                    kind=OpenQuestion.Kind.DISLIKED,
                    run_id=run_id,
                    feedback_id=runs[run_id],
                    question=question,
                    key=key_of(question),
                    wordings=one.wordings,
                    asked_at=call.started_at,
                )
            )
    return rows


def questions_of(tenant_id: int, run_ids: Sequence[int]) -> dict[int, str]:
    """Return what people asked in each run: its last message of theirs."""
    rows = Message.objects.filter(conversation__tenant_id=tenant_id, run__in=run_ids, is_superseded=False)
    rows = rows.filter(role=Message.Role.USER).order_by("position")
    return {run_id: content for run_id, content in rows.values_list("run_id", "content") if run_id and content}


def _drop_oldest(tenant_id: int) -> None:
    rows = OpenQuestion.objects.filter(tenant_id=tenant_id).order_by("-asked_at", "-pk")
    beyond = list(rows.values_list("pk", flat=True)[MAX_QUESTIONS : MAX_QUESTIONS + 10_000])
    if beyond:
        OpenQuestion.objects.filter(tenant_id=tenant_id, pk__in=beyond).delete()
