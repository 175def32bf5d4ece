"""Crossing from async code to the database, and prepared statements for the hot path."""
