"""Tokens of end users in the REST API."""
