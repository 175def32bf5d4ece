"""How long alarms, and schedules that are over, are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Exists, OuterRef

from assistant.contrib.timed.models import Alarm, Schedule, ScheduleRun
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for

# The rows of one that is not over say what it has cost.
OVER = (Schedule.State.DONE, Schedule.State.STOPPED)


def register() -> None:
    """Apply a tenant's retention periods to the rows of this app."""
    keep_for("conversations", _alarms_and_schedules)


def _alarms_and_schedules(tenant: Tenant, until: datetime) -> Iterator[Due]:
    over = Schedule.objects.filter(tenant=tenant, created_at__lt=until, state__in=OVER)
    asked = ScheduleRun.objects.filter(tenant=tenant, schedule=OuterRef("pk"), due_at__gte=until)
    yield Due("schedules", over.exclude(Exists(asked)), delete_rows)
    silent = Alarm.objects.filter(tenant=tenant, at__lt=until).exclude(state=Alarm.State.RINGING)
    yield Due("alarms", silent, delete_rows)
