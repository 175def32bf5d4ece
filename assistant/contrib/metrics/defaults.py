"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# The bearer token for /metrics, which answers 404 without it, and how many tenants get a label of their own there.
ASSISTANT_METRICS_TOKEN = ENVIRONMENT.key("ASSISTANT_METRICS_TOKEN")
ASSISTANT_METRICS_TENANTS = ENVIRONMENT.number("ASSISTANT_METRICS_TENANTS", 0)

__all__ = ["ASSISTANT_METRICS_TENANTS", "ASSISTANT_METRICS_TOKEN"]
