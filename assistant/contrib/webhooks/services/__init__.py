"""Webhooks: events, deliveries, and the sender."""
