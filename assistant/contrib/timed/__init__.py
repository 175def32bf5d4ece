"""Alarms that ring, and questions that assistants are asked at moments."""
