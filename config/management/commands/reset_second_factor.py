"""`manage.py reset_second_factor`: the short name of `assistant_reset_second_factor`."""

from assistant.contrib.sign_in.management.commands.assistant_reset_second_factor import Command

__all__ = ["Command"]
