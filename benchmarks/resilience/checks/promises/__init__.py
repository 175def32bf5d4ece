"""Checks of what must hold for every tenant: isolation, limits, secrets, scale."""
