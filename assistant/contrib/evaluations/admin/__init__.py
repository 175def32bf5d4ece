"""Evaluations and hostile checks in the control panel; without it, tenants' own checks in the admin."""

from django.apps import apps

from assistant.contrib.evaluations.admin import own_hostile_checks

__all__ = ["own_hostile_checks"]

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.evaluations.admin import (  # noqa: F401 - they register
        evaluations,
        hostile_check_runs,
        panel,
    )
