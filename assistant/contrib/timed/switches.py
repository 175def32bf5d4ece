"""Whether alarms and schedules can be used in this deployment."""

from __future__ import annotations

from django.conf import settings

from assistant.services.toolpolicy.catalogue import is_family_on


def alarms_are_on() -> bool:
    """Return whether alarms ring in this deployment."""
    return bool(settings.ASSISTANT_ALARMS_RING) and is_family_on("reminders")


def schedules_are_on() -> bool:
    """Return whether members of this deployment can use schedules."""
    return bool(settings.ASSISTANT_SCHEDULES) and is_family_on("schedules")
