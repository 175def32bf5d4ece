"""`manage.py rotate_encryption`: the short name of `assistant_rotate_encryption`."""

from assistant.contrib.deploy.management.commands.assistant_rotate_encryption import Command

__all__ = ["Command"]
