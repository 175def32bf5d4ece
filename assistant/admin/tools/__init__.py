"""The switchboard and the settings of tools."""

from assistant.admin.tools import switches

__all__ = ["switches"]
