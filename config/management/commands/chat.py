"""`manage.py chat`: the short name of `assistant_chat`."""

from assistant.contrib.terminal.management.commands.assistant_chat import Command

__all__ = ["Command"]
