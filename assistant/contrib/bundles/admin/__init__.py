"""Bundles in the control panel."""
