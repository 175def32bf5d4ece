"""Admits callers: one call for each request, and one context manager for each connection that stays open."""
