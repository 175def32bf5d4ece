"""`manage.py allow_origin`: the short name of `assistant_allow_origin`."""

from assistant.contrib.end_users.management.commands.assistant_allow_origin import Command

__all__ = ["Command"]
