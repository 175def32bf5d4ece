"""The page of calls whose results come later, in the control panel. Without that app there is no page."""
