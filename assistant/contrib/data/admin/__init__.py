"""The page of what the assistant can reach, in the admin, and in the control panel where that is installed."""

from assistant.contrib.data.admin import reach_page

__all__ = ["reach_page"]
