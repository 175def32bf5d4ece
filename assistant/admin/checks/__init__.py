"""Checks of assistants with hostile questions: a tenant's own, their runs and what came out."""

from assistant.admin.checks import check_runs, own_checks

__all__ = ["check_runs", "own_checks"]
