"""Puts what goes wrong into groups, in the background: a tenant's new runs day by day, and the ratings of last days."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Q
from django.utils import timezone

from assistant.contrib.improvements.models import (
    MAX_QUESTION,
    GroupedTenant,
    ProblemCase,
    ProblemGroup,
    Signature,
)
from assistant.contrib.improvements.services.signatures import Found, find, find_disliked
from assistant.contrib.improvements.services.topics import COMPARED, likeness, topic_of
from assistant.models import Feedback, Message, Run, Tenant
from assistant.models.runs import ACTIVE
from assistant.services.jobs.recurring import recurs

# How often a tenant with new runs is looked at, how many tenants one process claims at once, and runs of each.
EVERY = timedelta(minutes=10)
MAX_TENANTS = 20
# Rows of later moments may not be in sight yet: their transactions are open, and clocks differ.
IN_SIGHT = timedelta(minutes=1)
MAX_RUNS = 1_000
# The first time, and a run that has gone on for longer is passed over.
FIRST_DAYS = 28
LONGEST_RUN = timedelta(days=1)
# Answers are rated later than they are given.
RATED_FOR = timedelta(days=3)
MAX_RATED = 500
# An answer is slow from so many times the median of the days before on, but not below so many milliseconds; without
# enough answers, from twice of these.
USUAL_DAYS = 7
USUAL_RUNS = 2_000
LEAST_USUAL = 20
SLOW_FACTOR = 3
LEAST_SLOW_MS = 20_000
# What is kept: groups of a tenant, cases of a group, and for how long a group without new cases is compared.
MAX_GROUPS = 500
MAX_CASES = 1_000
KEPT_DAYS = 90
# Cases that a new one is compared with, of one kind.
MAX_COMPARED = 1_000


class _Kind(NamedTuple):
    """What the groups of one kind share; those without a subject are told apart by their questions."""

    assistant_id: int
    signature: str
    subject: str

    @property
    def is_by_question(self) -> bool:
        return not self.subject and self.signature != Signature.LATENCY


@recurs("improvements.group", seconds=60.0, is_first_later=True)
def group_tenants() -> int:
    """Look at the tenants with runs or ratings since the last time; return how many there were."""
    now = timezone.now()
    found = due_tenants(now=now)
    for tenant_id in found:
        group_tenant(tenant_id=tenant_id, now=now)
    return len(found)


def due_tenants(*, now: datetime) -> list[int]:
    """Return tenants with runs that were not looked at, or with ratings since; one query."""
    recent = Run.objects.filter(tenant=OuterRef("pk"), started_at__gte=now - timedelta(days=FIRST_DAYS))
    fresh = Run.objects.filter(tenant=OuterRef("tenant"), started_at__gte=OuterRef("grouped_to"), started_at__lt=now)
    rated = Feedback.objects.filter(
        tenant=OuterRef("tenant"), created_at__gte=OuterRef("grouped_at"), rating=Feedback.Rating.DOWN
    )
    known = GroupedTenant.objects.filter(tenant=OuterRef("pk"))
    waiting = known.filter(Exists(fresh) | Exists(rated), grouped_at__lt=now - EVERY)
    is_new = Exists(recent) & ~Exists(known)
    tenants = Tenant.objects.filter(is_new | Exists(waiting)).order_by("pk")
    return list(tenants.values_list("pk", flat=True)[:MAX_TENANTS])


@transaction.atomic
def group_tenant(*, tenant_id: int, now: datetime) -> int:
    """Put what went wrong in a tenant's next runs, a day or `MAX_RUNS` of them, into groups; return how many cases.

    Nothing, if another process does.
    """
    last = GroupedTenant.objects.filter(tenant_id=tenant_id).first()
    since = last.grouped_to if last is not None else now - timedelta(days=FIRST_DAYS)
    runs, until = _next_runs(tenant_id, since, now - IN_SIGHT)
    if not _claim(tenant_id, last, until, now):
        return 0
    found = find(runs, tenant_id=tenant_id, slow_ms=_slow_ms(tenant_id, since, until)) if runs else []
    stored = _store(found, tenant_id)
    stored += _store(find_disliked(_ratings(tenant_id, now)), tenant_id)
    _settle(tenant_id)
    _prune(tenant_id, now)
    return stored


def _next_runs(tenant_id: int, since: datetime, before: datetime) -> tuple[list[Run], datetime]:
    """Return the next runs that have ended, and the moment up to which they are all looked at then."""
    every = Run.objects.filter(
        tenant_id=tenant_id,
        started_at__gte=since,
        started_at__lt=before,
        is_test=False,
        conversation__is_temporary=False,
        conversation__is_stateless=False,
    ).order_by("started_at", "pk")
    active = Run.objects.filter(
        tenant_id=tenant_id, status__in=ACTIVE, started_at__gte=max(since, before - LONGEST_RUN), started_at__lt=before
    )
    until = active.order_by("started_at").values_list("started_at", flat=True).first() or max(since, before)
    fields = ("status", "assistant_id", "started_at", "ended_at", "error_code", "error_message")
    runs = list(every.filter(started_at__lt=until).exclude(status__in=ACTIVE).only(*fields)[: MAX_RUNS + 1])
    if not runs:
        return [], until
    if len(runs) > MAX_RUNS:
        until = runs[-1].started_at
        # The runs of one moment stay together.
        runs = [run for run in runs if run.started_at < until] or runs
        if runs[-1].started_at >= until:
            until += timedelta(microseconds=1)
    return runs, until


def _claim(tenant_id: int, last: GroupedTenant | None, until: datetime, now: datetime) -> bool:
    # While there is more than one reading, the next one follows at once.
    at = now if until >= now - EVERY - IN_SIGHT else now - 2 * EVERY
    values = {"grouped_to": until, "grouped_at": at}
    if last is not None:
        same = GroupedTenant.objects.filter(tenant_id=tenant_id, grouped_to=last.grouped_to, grouped_at=last.grouped_at)
        return bool(same.update(**values))
    try:
        with transaction.atomic():
            GroupedTenant.objects.create(tenant_id=tenant_id, **values)
    except IntegrityError:
        return False
    return True


def _slow_ms(tenant_id: int, since: datetime, until: datetime) -> defaultdict[int, int]:
    """Return from how many milliseconds on answers between two moments are slow, by the assistant."""
    rows = Run.objects.filter(
        tenant_id=tenant_id,
        status=Run.Status.FINISHED,
        is_test=False,
        started_at__gte=since - timedelta(days=USUAL_DAYS),
        started_at__lt=until,
        ended_at__isnull=False,
    ).order_by("-started_at")
    usual: defaultdict[int, list[float]] = defaultdict(list)
    for assistant_id, began, ended in rows.values_list("assistant_id", "started_at", "ended_at")[:USUAL_RUNS]:
        if ended is not None:
            usual[assistant_id].append((ended - began).total_seconds() * 1_000)
    found: defaultdict[int, int] = defaultdict(lambda: 2 * LEAST_SLOW_MS)
    for assistant_id, times in usual.items():
        if len(times) >= LEAST_USUAL:
            found[assistant_id] = max(LEAST_SLOW_MS, round(SLOW_FACTOR * median(times)))
    return found


def _ratings(tenant_id: int, now: datetime) -> list[Feedback]:
    """Return the ratings of the last days of answers in whose runs nothing else was found."""
    known = ProblemCase.objects.filter(tenant=tenant_id, run=OuterRef("message__run"))
    rows = Feedback.objects.filter(
        tenant_id=tenant_id,
        rating=Feedback.Rating.DOWN,
        created_at__gte=now - RATED_FOR,
        message__run__isnull=False,
        message__run__is_test=False,
        message__conversation__is_temporary=False,
    )
    return list(rows.exclude(Exists(known)).select_related("message__run").order_by("created_at")[:MAX_RATED])


def _store(found: Sequence[Found], tenant_id: int) -> int:
    """Store cases, each in the group that it belongs to; return how many there were."""
    if not found:
        return 0
    asked = _questions(tenant_id, {one.run_id for one in found})
    kinds: dict[_Kind, list[Found]] = defaultdict(list)
    for one in found:
        kinds[_Kind(one.assistant_id, one.signature, one.subject)].append(one)
    cases: list[ProblemCase] = []
    for kind, members in kinds.items():
        cases += _placed(tenant_id, kind, members, asked)
    ProblemCase.objects.bulk_create(cases, ignore_conflicts=True, batch_size=500)
    return len(cases)


def _placed(tenant_id: int, kind: _Kind, members: Iterable[Found], asked: Mapping[int, str]) -> list[ProblemCase]:
    """Return the cases of one kind with their groups, which are made where there is none."""
    groups = ProblemGroup.objects.filter(tenant_id=tenant_id, **kind._asdict()).order_by("pk")
    topics: dict[int, list[Collection[str]]] = {pk: [] for pk in groups.values_list("pk", flat=True)}
    if kind.is_by_question:
        known = ProblemCase.objects.filter(tenant_id=tenant_id, group__in=topics).order_by("-at")
        for group_id, words in known.values_list("group_id", "words")[:MAX_COMPARED]:
            topics[group_id].append(words)
    cases = []
    for one in members:
        question = _shown(asked.get(one.run_id, ""))
        words = topic_of(question)
        known_id = _group_of(words, topics) if kind.is_by_question else next(iter(topics), None)
        group_id = known_id or ProblemGroup.objects.create(tenant_id=tenant_id, **kind._asdict()).pk
        topics.setdefault(group_id, [])
        topics[group_id] = [words, *topics[group_id][: COMPARED - 1]]
        case = ProblemCase(tenant_id=tenant_id, group_id=group_id, run_id=one.run_id, detail=one.detail, at=one.at)
        case.question = question
        case.words = words
        cases.append(case)
    return cases


def _group_of(words: Collection[str], topics: Mapping[int, Sequence[Collection[str]]]) -> int | None:
    scores = {pk: likeness(words, those) for pk, those in topics.items()}
    best = max(scores, key=lambda pk: (scores[pk], -pk), default=None)
    return best if best is not None and scores[best] > 0 else None


def _questions(tenant_id: int, run_ids: Collection[int]) -> dict[int, str]:
    """Return what people asked in each run."""
    rows = Message.objects.filter(conversation__tenant_id=tenant_id, run__in=run_ids, is_superseded=False)
    rows = rows.filter(role=Message.Role.USER).order_by("position")
    return {run_id: content for run_id, content in rows.values_list("run_id", "content") if run_id and content}


def _shown(text: str) -> str:
    line = " ".join(text[: 2 * MAX_QUESTION].split())
    return line if len(line) <= MAX_QUESTION else f"{line[: MAX_QUESTION - 1]}…"


def _settle(tenant_id: int) -> None:
    """Mark groups whose draft was published as changed."""
    drafted = ProblemGroup.objects.filter(tenant_id=tenant_id, state=ProblemGroup.State.OPEN)
    for group in drafted.filter(draft__published_at__isnull=False).select_related("draft"):
        own = ProblemGroup.objects.filter(pk=group.pk, tenant_id=tenant_id)
        own.update(state=ProblemGroup.State.CHANGED, changed_at=group.in_force_at)


def _prune(tenant_id: int, now: datetime) -> None:
    """Delete groups without cases or without new ones, the smallest of too many, and cases of the largest."""
    groups = ProblemGroup.objects.filter(tenant_id=tenant_id).annotate(last=Max("cases__at"))
    groups.filter(Q(last=None) | Q(last__lt=now - timedelta(days=KEPT_DAYS))).delete()
    newest = ProblemGroup.objects.filter(tenant_id=tenant_id).annotate(last=Max("cases__at"))
    kept = newest.order_by(F("changed_at").desc(nulls_last=True), "-last").values_list("pk", flat=True)
    beyond = list(kept[MAX_GROUPS : 2 * MAX_GROUPS])
    ProblemGroup.objects.filter(tenant_id=tenant_id, pk__in=beyond).delete()
    counted = ProblemGroup.objects.filter(tenant_id=tenant_id).annotate(number=Count("cases"))
    for group_id in counted.filter(number__gt=MAX_CASES).values_list("pk", flat=True):
        old = ProblemCase.objects.filter(tenant_id=tenant_id, group=group_id).order_by("-at", "-pk")
        too_many = list(old.values_list("pk", flat=True)[MAX_CASES : 2 * MAX_CASES])
        ProblemCase.objects.filter(tenant_id=tenant_id, pk__in=too_many).delete()
