"""The app's addresses: a member's schedules as a page, and alarms and schedules in the REST API."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.timed import pages
from assistant.contrib.timed.api import alarms, schedules

urlpatterns = [
    path("t/<slug:tenant>/schedules/", pages.schedules, name="schedules"),
    path("t/<slug:tenant>/schedules/<int:schedule>/", pages.change_schedule, name="schedule"),
    path(
        OF_TENANT,
        include(
            [
                tenant_path("alarms/", alarms.Alarms),
                tenant_path("alarms/<int:number>/done/", alarms.AlarmDone),
                tenant_path("alarms/<int:number>/snooze/", alarms.AlarmSnooze),
                tenant_path("schedules/", schedules.Schedules),
                tenant_path("schedules/<int:schedule>/", schedules.OneSchedule),
            ]
        ),
    ),
]
