"""What became worse, with the changes that fit best: of a tenant, of one assistant, or of the whole deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from django.db.models import QuerySet

from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.changes import changes_within
from assistant.contrib.insights.services.findings import MAX_FINDINGS, Finding, find
from assistant.contrib.insights.services.reports import Period
from assistant.contrib.insights.services.suspects import Suspect, is_drift, rank
from assistant.models import Assistant, AuditEntry

# Of several tenants.
MAX_OF_ALL = 20


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """A finding with what may be its cause, the best first.

    Attributes:
        assistants: those of the finding first, then others with the same cause.
        is_drift: it became worse day by day.
    """

    finding: Finding
    assistants: tuple[Assistant, ...]
    suspects: tuple[Suspect, ...]
    is_drift: bool = False

    @property
    def assistant(self) -> Assistant:
        return self.assistants[0]

    @property
    def day(self) -> date:
        """The first day that is worse, or on which it began to become so."""
        slope = self.finding.slope
        return self.finding.days[slope.place] if self.is_drift and slope is not None else self.finding.day


def explain(rows: QuerySet[DaySum], *, period: Period, is_of_all: bool = False) -> list[Explained]:
    """Return what became worse in some sums, the newest first, with what may be the causes.

    Four queries, and one for each finding; the same cause of several assistants is one line.

    Args:
        is_of_all: the sums are of several tenants.
    """
    found = find(rows, period=period, most=MAX_OF_ALL if is_of_all else MAX_FINDINGS)
    if not found:
        return []
    pks = {pk for one in found for pk in one.assistants}
    tenants = rows.filter(assistant__in=pks).order_by().values("tenant_id")
    named = Assistant.objects.filter(pk__in=pks, tenant__in=tenants).select_related("tenant")
    assistants = {one.pk: one for one in named}
    changes = changes_within(
        [(one.first_change, one.last_change) for one in found], tenants={one.tenant_id for one in assistants.values()}
    )
    return _merged(
        [
            _explained(one, tuple(assistants[pk] for pk in one.assistants), changes)
            for one in found
            if all(pk in assistants for pk in one.assistants)
        ]
    )


def _explained(finding: Finding, assistants: tuple[Assistant, ...], changes: Sequence[AuditEntry]) -> Explained:
    suspects = tuple(rank(finding, changes, assistants))
    drifted = is_drift(finding, suspects)
    return Explained(finding, assistants, () if drifted else suspects, drifted)


def _merged(found: Sequence[Explained]) -> list[Explained]:
    """Put together what has the same cause: a change of several assistants, or a provider that fails them all."""
    merged: dict[object, Explained] = {}
    for one in found:
        key = (one.suspects[0].key, one.finding.measure.slug) if one.suspects else one.finding
        first = merged.get(key)
        if first is None or abs((first.finding.day - one.finding.day).days) > 2:
            merged[key if first is None else one.finding] = one
        else:
            clearest, other = sorted((first, one), key=lambda each: -each.finding.step.deviations)
            every = {each.pk: each for each in (*clearest.assistants, *other.assistants)}
            merged[key] = replace(clearest, assistants=tuple(every.values()))
    return list(merged.values())
