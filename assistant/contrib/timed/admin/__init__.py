"""Alarms and schedules in the admin, and what the control panel shows of them."""

from assistant.contrib.timed.admin import alarms, schedules

__all__ = ["alarms", "schedules"]
