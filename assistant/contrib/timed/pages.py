"""A member's page of their own schedules: the next time, the last outcomes, and buttons to pause and delete."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules.schedules import (
    ScheduleRefused,
    delete_schedule,
    moment_in_zone,
    own_schedules,
    set_paused,
)
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.shell import render_in_shell

# The newest schedules, and of each the newest moments.
MAX_SHOWN, MAX_RUNS = 100, 5
# Of all of them together, so that the page reads them by one query.
MAX_READ = 500


@require_safe
@for_members
def schedules(page: MemberRequest) -> HttpResponse:
    """List the member's schedules."""
    rows = list(own_schedules(page.member)[:MAX_SHOWN])
    runs: dict[int, list[ScheduleRun]] = {}
    for run in ScheduleRun.objects.filter(tenant_id=page.member.tenant_id, schedule__in=rows)[:MAX_READ]:
        runs.setdefault(run.schedule_id, []).append(run)
    shown = [_shown(row, runs.get(row.pk, [])[:MAX_RUNS]) for row in rows]
    return render_in_shell(page, "assistant/timed/schedules.html", {"schedules": shown})


def _shown(row: Schedule, runs: list[ScheduleRun]) -> dict[str, Any]:
    return {
        "row": row,
        "next": None if row.next_at is None else moment_in_zone(row, row.next_at),
        "ends": None if row.ends_at is None else moment_in_zone(row, row.ends_at),
        "runs": [{"row": run, "at": moment_in_zone(row, run.due_at)} for run in runs],
        "may_pause": row.state == Schedule.State.ON,
        "may_go_on": row.state in (Schedule.State.PAUSED, Schedule.State.STOPPED),
    }


@require_POST
@for_members
def change_schedule(page: MemberRequest, schedule: int) -> HttpResponse:
    """Pause a schedule of the member, let it go on, or delete it, as the field `do` says."""
    row = own_schedules(page.member).filter(pk=schedule).first()
    wanted = page.request.POST.get("do", "")
    if row is None or wanted not in ("pause", "resume", "delete"):
        raise Http404
    if wanted == "delete":
        delete_schedule(row=row, actor=row.user)
        messages.success(page.request, _("“%(name)s” is deleted.") % {"name": row.name})
    else:
        try:
            set_paused(row=row, is_paused=wanted == "pause", actor=row.user, by=page.member)
        except ScheduleRefused as exc:
            messages.error(page.request, str(exc))
    return redirect("assistant:schedules", tenant=page.member.tenant.slug)
