"""`manage.py deliver_webhooks`: the short name of `assistant_deliver_webhooks`."""

from assistant.contrib.webhooks.management.commands.assistant_deliver_webhooks import Command

__all__ = ["Command"]
