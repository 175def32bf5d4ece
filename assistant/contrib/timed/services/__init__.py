"""Alarms and schedules of members."""
