"""Fault injection and isolation checks: `make resilience`, described in docs/resilience.md."""
