"""Alarms and schedules."""
