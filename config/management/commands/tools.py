"""`manage.py tools`: the short name of `assistant_tools`."""

from assistant.management.commands.assistant_tools import Command

__all__ = ["Command"]
