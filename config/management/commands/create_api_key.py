"""`manage.py create_api_key`: the short name of `assistant_create_api_key`."""

from assistant.management.commands.assistant_create_api_key import Command

__all__ = ["Command"]
