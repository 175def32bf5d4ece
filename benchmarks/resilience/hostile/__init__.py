"""Hostile text, and how it is sent through each kind of entrance."""
