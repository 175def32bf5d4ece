"""Checks of assistants with hostile questions: the shipped ones, a tenant's own, their runs and verdicts."""
