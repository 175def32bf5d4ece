"""Database calls from async code, and prepared queries."""
