"""Rows about moments: alarms."""
