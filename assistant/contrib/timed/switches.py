"""Whether alarms and schedules can be used in this deployment."""

from __future__ import annotations

from django.conf import settings

from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.catalogue import is_family_on


def alarms_are_on() -> bool:
    """Return whether alarms ring in this deployment."""
    return is_family_on("reminders")


def shows_schedules(*, member: Member) -> bool:
    """Return whether a member is shown the link to their schedules: all are, where schedules can be used."""
    return schedules_are_on()


def schedules_are_on() -> bool:
    """Return whether members of this deployment can use schedules."""
    return bool(settings.ASSISTANT_SCHEDULES) and is_family_on("schedules")
