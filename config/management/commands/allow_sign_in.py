"""`manage.py allow_sign_in`: the short name of `assistant_allow_sign_in`."""

from assistant.management.commands.assistant_allow_sign_in import Command

__all__ = ["Command"]
