"""The search of the control panel."""
