"""Rows about moments: alarms, and questions that are asked at moments."""
