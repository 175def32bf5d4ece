"""Alarms and schedules in the REST API."""
