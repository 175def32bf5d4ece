"""How the answers with a change set are, beside those without it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from assistant.contrib.change_sets.models import EVERYTHING, ChangeSet
from assistant.contrib.change_sets.shares import in_share
from assistant.models import Feedback, Run
from assistant.models.runs import ACTIVE

# Of the answers since a set began, and of those before it, the newest so many are counted.
MAX_RUNS = 5_000
FAILED = (Run.Status.FAILED, Run.Status.INTERRUPTED)
# By how many standard deviations of chance a share is worse.
LEAST_DEVIATIONS = 2.5
# How answers are bad, as the fields of `Figures` name it.
MEASURES = ("failed", "disliked", "stopped")


@dataclass(frozen=True, slots=True)
class Figures:
    """How many runs have ended, and how many of them failed, were rated as not helpful, or were stopped."""

    runs: int = 0
    failed: int = 0
    disliked: int = 0
    stopped: int = 0

    def percent(self, measure: str) -> float:
        """Return a measure as a share of the runs, in per cent; 0 of none."""
        return 100 * getattr(self, measure) / self.runs if self.runs else 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers with a set, and those without it: of other conversations, or of the time before."""

    inside: Figures
    outside: Figures

    def worse(self, *, points: int) -> list[str]:
        """Return the measures that are worse with the set, by so many points of per cent and more than by chance."""
        return [measure for measure in MEASURES if self._is_worse(measure, points)]

    def _is_worse(self, measure: str, points: int) -> bool:
        if not self.inside.runs or not self.outside.runs:
            return False
        bad = getattr(self.inside, measure)
        other = getattr(self.outside, measure)
        difference = self.inside.percent(measure) - self.outside.percent(measure)
        # One more of each kind, so that a past without any does not make a single one significant.
        pooled = (bad + other + 1) / (self.inside.runs + self.outside.runs + 2)
        deviation = 100 * math.sqrt(pooled * (1 - pooled) * (1 / self.inside.runs + 1 / self.outside.runs))
        return difference >= points and difference / deviation >= LEAST_DEVIATIONS


def compare(change_set: ChangeSet) -> Comparison:
    """Return how the answers of the reached assistants are since a set began; three queries.

    Of a set that a share of the conversations has, the others since then are the answers without it; else those of the
    time before. Tests are left out.
    """
    began_at = change_set.began_at
    if began_at is None:
        return Comparison(Figures(), Figures())
    since = _ended_runs(change_set).filter(started_at__gte=began_at)
    if change_set.ended_at is not None:
        since = since.filter(started_at__lt=change_set.ended_at)
    rows = _columns(since)
    if change_set.percent == EVERYTHING:
        return Comparison(_sum(rows), _sum(_columns(_ended_runs(change_set).filter(started_at__lt=began_at))))
    inside: list[Any] = []
    outside: list[Any] = []
    for row in rows:
        is_inside = in_share(change_set=change_set.pk, conversation=row[0], percent=change_set.percent)
        (inside if is_inside else outside).append(row)
    return Comparison(_sum(inside), _sum(outside))


def _ended_runs(change_set: ChangeSet) -> QuerySet[Run]:
    """Return the ended runs of the assistants, or whole tenants, that a set has changed."""
    pairs = list(change_set.applied.order_by().values_list("tenant_id", "assistant_id").distinct())
    whole = {tenant_id for tenant_id, assistant_id in pairs if assistant_id is None}
    assistants = [assistant_id for tenant_id, assistant_id in pairs if tenant_id not in whole]
    rows = Run.objects.filter(tenant__in={tenant_id for tenant_id, _assistant in pairs}, is_test=False)
    return rows.filter(Q(tenant__in=whole) | Q(assistant__in=assistants)).exclude(status__in=ACTIVE)


def _columns(runs: QuerySet[Run]) -> list[Any]:
    down = Feedback.objects.filter(tenant=OuterRef("tenant"), message__run=OuterRef("pk"), rating=Feedback.Rating.DOWN)
    rows = runs.annotate(is_disliked=Exists(down)).order_by("-started_at")
    return list(rows.values_list("conversation_id", "status", "is_disliked")[:MAX_RUNS])


def _sum(rows: Iterable[Any]) -> Figures:
    found = list(rows)
    return Figures(
        len(found),
        sum(status in FAILED for _conversation, status, _down in found),
        sum(bool(down) for _conversation, _status, down in found),
        sum(status == Run.Status.CANCELLED for _conversation, status, _down in found),
    )
