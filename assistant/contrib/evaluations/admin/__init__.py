"""Evaluations and hostile checks in the control panel."""

from assistant.contrib.evaluations.admin import evaluations, hostile_check_runs, own_hostile_checks, panel

__all__ = ["evaluations", "hostile_check_runs", "own_hostile_checks", "panel"]
