"""The events that the app reports of a tenant."""

from __future__ import annotations

ALARM_UNSEEN = "alarm.unseen"
SCHEDULE_FINISHED = "schedule.finished"
