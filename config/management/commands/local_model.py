"""`manage.py local_model`: the short name of `assistant_local_model`."""

from assistant.contrib.local_model.management.commands.assistant_local_model import Command

__all__ = ["Command"]
