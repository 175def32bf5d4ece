"""The first page of the control panel."""
