"""Alarms and schedules in the admin, and what the control panel shows of them."""

from django.apps import apps

from assistant.contrib.timed.admin import alarms, schedules

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.timed.admin import panel  # noqa: F401 - it registers

__all__ = ["alarms", "schedules"]
