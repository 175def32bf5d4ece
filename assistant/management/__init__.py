"""Shared code of the management commands."""
