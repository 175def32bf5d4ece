"""Evaluations and hostile checks in the control panel; without it, tenants' own checks in the admin."""

from assistant.contrib.evaluations.admin import own_hostile_checks

__all__ = ["own_hostile_checks"]
