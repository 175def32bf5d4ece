"""`manage.py export_tenant`: the short name of `assistant_export_tenant`."""

from assistant.contrib.data_exports.management.commands.assistant_export_tenant import Command

__all__ = ["Command"]
