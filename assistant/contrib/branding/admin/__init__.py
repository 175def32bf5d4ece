"""The tab *Brand* in the control panel."""
