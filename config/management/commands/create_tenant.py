"""`manage.py create_tenant`: the short name of `assistant_create_tenant`."""

from assistant.management.commands.assistant_create_tenant import Command

__all__ = ["Command"]
