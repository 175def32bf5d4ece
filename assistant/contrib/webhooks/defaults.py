"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether servers deliver webhooks; otherwise cron runs `deliver_webhooks`.
WEBHOOKS_FROM_SERVER = ENVIRONMENT.flag("WEBHOOKS_FROM_SERVER", True)

__all__ = ["WEBHOOKS_FROM_SERVER"]
