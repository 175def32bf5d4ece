"""The events that the app reports to webhooks."""

from __future__ import annotations

ALARM_UNSEEN = "alarm.unseen"
SCHEDULE_FINISHED = "schedule.finished"
