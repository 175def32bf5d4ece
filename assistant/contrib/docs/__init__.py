"""Serves the documentation as pages of the site."""
