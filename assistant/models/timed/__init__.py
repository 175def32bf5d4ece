"""Rows about moments: alarms, questions that are asked at moments, and calls whose result comes later."""
