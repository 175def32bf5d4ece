"""Hostile text, and how it is sent to each interface."""
