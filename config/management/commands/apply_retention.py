"""`manage.py apply_retention`: the short name of `assistant_apply_retention`."""

from assistant.management.commands.assistant_apply_retention import Command

__all__ = ["Command"]
