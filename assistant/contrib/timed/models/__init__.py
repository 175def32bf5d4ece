"""Alarms, and questions that assistants are asked at moments."""

from assistant.contrib.timed.models.alarms import Alarm, PersonAlarms, TenantAlarms
from assistant.contrib.timed.models.schedules import Schedule, ScheduleRun

__all__ = ["Alarm", "PersonAlarms", "Schedule", "ScheduleRun", "TenantAlarms"]
