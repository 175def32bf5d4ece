"""Begins and takes back change sets at their moments, and those that make answers worse, in the processes with jobs."""

from __future__ import annotations

from django.db import transaction

from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.change_sets.services.acts import begin, take_back
from assistant.contrib.change_sets.services.figures import compare
from assistant.contrib.change_sets.services.items import ChangeSetRefused
from assistant.services.db.clock import DatabaseTime
from assistant.services.jobs.recurring import recurs

# Sets that one look begins or takes back; the next look does the others.
MAX_AT_ONCE = 20


@recurs("change_sets.moments", seconds=20.0)
def look_for_moments() -> int:
    """Begin the planned sets whose moment has come, and take back those that have ended; return how many."""
    planned = ChangeSet.objects.filter(state=ChangeSet.State.PLANNED, starts_at__lte=DatabaseTime())
    ended = ChangeSet.objects.filter(state=ChangeSet.State.ON, ends_at__lte=DatabaseTime())
    begun = sum(_begin(pk) for pk in planned.order_by("starts_at").values_list("pk", flat=True)[:MAX_AT_ONCE])
    return begun + sum(_end(row) for row in ended.order_by("ends_at")[:MAX_AT_ONCE])


@recurs("change_sets.watched", seconds=120.0, is_first_later=True)
def watch() -> int:
    """Take back the sets whose answers are worse, as far as their operators said so; return how many."""
    watched = ChangeSet.objects.filter(state=ChangeSet.State.ON, watched_answers__isnull=False)
    return sum(_taken_back(row) for row in watched.order_by("began_at")[:MAX_AT_ONCE])


def _taken_back(row: ChangeSet) -> bool:
    found = compare(row)
    if found.inside.runs < (row.watched_answers or 0):
        return False
    worse = found.worse(points=row.watched_points)
    if not worse:
        return False
    percents = [f"{name} {found.outside.percent(name):.1f} % → {found.inside.percent(name):.1f} %" for name in worse]
    why = f"Taken back by itself after {found.inside.runs} answers: {', '.join(percents)}."
    return _end(row, why)


def _begin(pk: int) -> bool:
    """Begin a planned set that no other process has; one that cannot begin is a draft again, with the reason."""
    try:
        with transaction.atomic():
            rows = ChangeSet.objects.select_for_update(of=("self",)).select_related("tenant", "submitted_by")
            row = rows.filter(pk=pk, state=ChangeSet.State.PLANNED).first()
            if row is None:
                return False
            begin(change_set=row, actor=row.submitted_by)
    except ChangeSetRefused as exc:
        planned = ChangeSet.objects.filter(pk=pk, state=ChangeSet.State.PLANNED)
        planned.update(state=ChangeSet.State.DRAFT, note=str(exc)[:200])
        return False
    return True


def _end(row: ChangeSet, why: str = "") -> bool:
    try:
        take_back(change_set=row, actor=None, why=why)
    except ChangeSetRefused:
        # Somebody has taken it back meanwhile.
        return False
    return True
