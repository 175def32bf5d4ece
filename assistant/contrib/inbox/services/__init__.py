"""Reads what waits for a member, and sends e-mails about it."""
