"""`manage.py delete_user`: the short name of `assistant_delete_user`."""

from assistant.management.commands.assistant_delete_user import Command

__all__ = ["Command"]
