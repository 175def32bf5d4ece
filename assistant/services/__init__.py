"""The domain: functions with keyword arguments, which the doors and the commands call."""
