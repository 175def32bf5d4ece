"""Webhooks: events of a tenant are sent to its own programs, signed, until they are taken."""
