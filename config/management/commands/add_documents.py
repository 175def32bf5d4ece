"""`manage.py add_documents`: the short name of `assistant_add_documents`."""

from assistant.management.commands.assistant_add_documents import Command

__all__ = ["Command"]
