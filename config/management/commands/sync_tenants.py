"""`manage.py sync_tenants`: the short name of `assistant_sync_tenants`."""

from assistant.management.commands.assistant_sync_tenants import Command

__all__ = ["Command"]
