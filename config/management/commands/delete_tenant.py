"""`manage.py delete_tenant`: the short name of `assistant_delete_tenant`."""

from assistant.management.commands.assistant_delete_tenant import Command

__all__ = ["Command"]
