"""Members' alarms; registered only if their tool family is on."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import user_column, username
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.contrib.timed.models import Alarm
from assistant.contrib.timed.services.reminders.alarms import ALARMS, schedule_ring
from assistant.services.eventlog.member_notices import notify
from assistant.services.toolpolicy.catalogue import is_family_on


class AlarmAdmin(TenantScopedAdmin):
    """Members' alarms: set by members, editable by a tenant's admin."""

    possible_actions = frozenset({"view", "change", "delete"})
    list_display = ("due", "label", "state", "rang_at", "seen_at", "told_at", "user", "tenant")
    list_filter = (TENANT, "state", "at")
    search_fields = ("label", username("user"))
    list_select_related = ("tenant", "user")
    fields = ("tenant", "member", "at", "due", "label", "state", "rang_at", "seen_at", "told_at", "rings", "created_at")
    readonly_fields = ("member", "due", "rang_at", "seen_at", "told_at", "rings", "created_at")
    member = user_column("user")

    @admin.display(description=gettext_lazy("in the tenant's time zone"), ordering="at")
    def due(self, alarm: Alarm) -> str:
        zone = ZoneInfo(alarm.tenant.timezone)
        return f"{date_format(alarm.at.astimezone(zone), 'DATETIME_FORMAT', use_l10n=True)} ({zone.key})"

    @transaction.atomic
    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        schedule_ring(obj)
        notify(tenant_id=obj.tenant_id, user_id=obj.user_id, about=ALARMS)


if is_family_on("reminders"):
    admin.site.register(Alarm, AlarmAdmin)
