"""Hostile checks of assistants: the shipped ones, a tenant's own, their runs and verdicts."""
