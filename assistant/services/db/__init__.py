"""Database calls from async code, and prepared statements for frequent queries."""
