"""Hostile checks: the shipped ones, a tenant's own, their runs and verdicts."""
