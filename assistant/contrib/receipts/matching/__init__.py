"""Ties values of an answer to where they came from. Pure functions: no Django, no network, no model."""
