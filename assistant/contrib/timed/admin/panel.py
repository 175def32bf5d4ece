"""What the pages of the core show of alarms and schedules."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from assistant.admin.base.merging import MergingInline
from assistant.admin.base.tenant_scope import Scoped
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.tenants.added_inlines import add_inline
from assistant.contrib.timed.models import Schedule, TenantAlarms
from assistant.contrib.timed.services.reminders.alarms import REACH_JOB, RING_JOB
from assistant.contrib.timed.services.schedules.schedules import ASK_JOB, DUE_JOB


class TenantAlarmsInline(Scoped, MergingInline, admin.StackedInline[Any, Any]):
    """What a tenant has set for its members' alarms."""

    model = TenantAlarms
    fields = ("are_mailed",)
    verbose_name_plural = gettext_lazy("alarms")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # The default has the same effect as no row.
        return False


show_in_room("conversations", Schedule, after="feedback")
describe_empty_list("alarm", gettext_lazy("Nobody has set an alarm."))
describe_empty_list("schedule", gettext_lazy("Nothing is scheduled. Members ask an assistant to schedule a question."))
describe_job(RING_JOB, gettext_lazy("Have an alarm ring"))
describe_job(REACH_JOB, gettext_lazy("Tell an alarm that no chat shows"))
describe_job(DUE_JOB, gettext_lazy("A schedule is due"))
describe_job(ASK_JOB, gettext_lazy("Ask a scheduled question"))
add_inline(TenantAlarmsInline)
