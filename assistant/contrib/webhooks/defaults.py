"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether servers deliver webhooks; otherwise cron runs `assistant_deliver_webhooks`.
ASSISTANT_WEBHOOKS_FROM_SERVER = ENVIRONMENT.flag("ASSISTANT_WEBHOOKS_FROM_SERVER", True)

__all__ = ["ASSISTANT_WEBHOOKS_FROM_SERVER"]
