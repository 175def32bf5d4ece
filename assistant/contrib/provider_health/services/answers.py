"""Counts how the models of providers have answered: runs, failures by their code, and takeovers by a fallback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import TruncHour

from assistant.models import Provider, Run

# What a run ends with when the provider did not answer (docs/errors.md), and when this deployment did not.
PROVIDER_CODES = ("provider_error", "provider_quota", "provider_rate_limited", "provider_timeout")
OWN_CODES = ("internal_error", "interrupted", "unavailable")
# A model is failing if so many of its runs did, and so large a part, of those that began in so many minutes.
RECENT = timedelta(minutes=15)
FAILING_RUNS = 5
FAILING_SHARE = 0.5
# Assistants whose recent runs are read, and runs whose times are.
MAX_GROUPS = 5_000
MAX_TIMED = 5_000


class AskedModel(NamedTuple):
    """A model as runs name it.

    Attributes:
        owner: the primary key of the tenant whose own provider it is; None for the deployment's.
        provider: the provider's name.
        model: the model's name there.
    """

    owner: int | None
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Answers:
    """How a model answered.

    Attributes:
        runs: how many asked it first.
        failed: of these, how many the provider left without an answer.
        taken_over: how many another model answered, because it could not.
        own: how many this deployment ended with an error of its own.
    """

    runs: int = 0
    failed: int = 0
    taken_over: int = 0
    own: int = 0

    @property
    def unanswered(self) -> int:
        """How many runs it did not answer, whether another model did or not."""
        return self.failed + self.taken_over

    @property
    def is_failing(self) -> bool:
        """Whether it fails too often to be chance."""
        return self.unanswered >= max(FAILING_RUNS, FAILING_SHARE * self.runs)

    def __add__(self, other: Answers) -> Answers:
        return Answers(
            self.runs + other.runs,
            self.failed + other.failed,
            self.taken_over + other.taken_over,
            self.own + other.own,
        )


class AssistantAnswers(NamedTuple):
    """How a model answered the questions to one assistant; `code` is that of the failures, "" for the other runs."""

    asked: AskedModel
    tenant_id: int
    assistant_id: int
    code: str
    answers: Answers


def recent_answers(now: datetime) -> list[AssistantAnswers]:
    """Return how each model answered each assistant of all tenants lately; one query."""
    rows = _grouped(_asked_since(now - RECENT), "tenant_id", "assistant_id", "error_code")[:MAX_GROUPS]
    return [
        AssistantAnswers(_asked(row), row["tenant_id"], row["assistant_id"], row["error_code"], _answers(row))
        for row in rows
    ]


def failing_models(recent: Iterable[AssistantAnswers]) -> dict[AskedModel, Answers]:
    """Return the models that are failing now."""
    return {asked: answers for asked, answers in of_all_assistants(recent).items() if answers.is_failing}


def of_all_assistants(recent: Iterable[AssistantAnswers]) -> dict[AskedModel, Answers]:
    """Return how each model answered all assistants."""
    return sums((one.asked, one.answers) for one in recent)


def sums(parts: Iterable[tuple[AskedModel, Answers]]) -> dict[AskedModel, Answers]:
    """Return how each model answered in all parts, such as hours."""
    found: dict[AskedModel, Answers] = {}
    for asked, answers in parts:
        found[asked] = found.get(asked, Answers()) + answers
    return found


def answers_by_hour(since: datetime) -> dict[datetime, dict[AskedModel, Answers]]:
    """Return how each model answered in each hour in which it was asked, by the hour's begin; one query."""
    hours: dict[datetime, dict[AskedModel, Answers]] = {}
    for row in _grouped(_asked_since(since).annotate(hour=TruncHour("started_at", tzinfo=UTC)), "hour"):
        hours.setdefault(row["hour"], {})[_asked(row)] = _answers(row)
    return hours


def seconds_of(since: datetime) -> dict[AskedModel, tuple[list[float], list[float]]]:
    """Return the seconds until the first word and until the end of the newest answers, ascending; one query."""
    answered = _asked_since(since).filter(status=Run.Status.FINISHED, fallback_model="")
    columns = ("owner", "provider_name", "model", "first_token_ms", "started_at", "ended_at")
    found: dict[AskedModel, tuple[list[float], list[float]]] = {}
    for row in answered.order_by("-started_at").values(*columns)[:MAX_TIMED]:
        first, whole = found.setdefault(_asked(row), ([], []))
        if row["first_token_ms"] is not None:
            first.append(row["first_token_ms"] / 1_000)
        if row["ended_at"] is not None:
            whole.append((row["ended_at"] - row["started_at"]).total_seconds())
    for first, whole in found.values():
        first.sort()
        whole.sort()
    return found


def codes_of(since: datetime, *, asked: Sequence[AskedModel]) -> dict[str, int]:
    """Return how many runs of some models ended with each code, the most usual first; one query."""
    failed = _asked_since(since).filter(status__in=(Run.Status.FAILED, Run.Status.INTERRUPTED))
    counts: dict[str, int] = {}
    for row in failed.order_by().values("owner", "provider_name", "model", "error_code").annotate(runs=Count("pk")):
        if _asked(row) in asked:
            counts[row["error_code"]] = counts.get(row["error_code"], 0) + row["runs"]
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _asked_since(since: datetime) -> QuerySet[Any]:
    """Return the runs of all tenants that have asked a model since, with the owner of its provider."""
    own = Provider.objects.filter(tenant=OuterRef("tenant"), name=OuterRef("provider_name"))
    asked = Run.objects.filter(started_at__gte=since, is_test=False).exclude(provider_name="")
    owned: QuerySet[Any] = asked.annotate(owner=Case(When(Exists(own), then=F("tenant_id")), default=None))
    return owned


def _grouped(runs: QuerySet[Any], *by: str) -> QuerySet[Any]:
    is_failed = Q(status=Run.Status.FAILED, error_code__in=PROVIDER_CODES)
    grouped: QuerySet[Any] = runs.order_by().values("owner", "provider_name", "model", *by)
    counted: QuerySet[Any] = grouped.annotate(
        runs=Count("pk"),
        failed=Count("pk", filter=is_failed),
        taken_over=Count("pk", filter=~Q(fallback_model="") & ~is_failed),
        own=Count("pk", filter=Q(error_code__in=OWN_CODES)),
    )
    return counted


def _asked(row: Any) -> AskedModel:
    return AskedModel(row["owner"], row["provider_name"], row["model"])


def _answers(row: Any) -> Answers:
    return Answers(row["runs"], row["failed"], row["taken_over"], row["own"])
