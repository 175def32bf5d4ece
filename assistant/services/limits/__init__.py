"""Limits: request rates, requests of API keys, quotas, and the usage that they count."""
