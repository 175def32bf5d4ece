"""Webhooks in the control panel."""
