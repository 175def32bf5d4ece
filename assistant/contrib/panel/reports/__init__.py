"""Sums, lists and searches for the pages of the control panel; every one names the tenants that it may read."""
