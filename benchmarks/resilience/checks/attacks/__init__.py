"""Checks of what an attacker may send or do."""
