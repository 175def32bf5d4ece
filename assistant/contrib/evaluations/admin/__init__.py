"""Evaluations and hostile checks in the control panel."""

from django.apps import apps

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.evaluations.admin import (  # noqa: F401 - they register
        evaluations,
        hostile_check_runs,
        own_hostile_checks,
        panel,
    )
