"""Checks of crashes, outages, clocks and lost connections."""
