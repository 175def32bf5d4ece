"""The switchboard and the settings of tools."""

from assistant.contrib.panel.admin.tools import switches

__all__ = ["switches"]
