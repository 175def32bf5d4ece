"""`manage.py export_user`: the short name of `assistant_export_user`."""

from assistant.contrib.data_exports.management.commands.assistant_export_user import Command

__all__ = ["Command"]
