"""The improvement desk in the control panel. Without that app there is no page; groups are made all the same."""
