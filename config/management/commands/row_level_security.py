"""`manage.py row_level_security`: the short name of `assistant_row_level_security`."""

from assistant.contrib.row_level_security.management.commands.assistant_row_level_security import Command

__all__ = ["Command"]
