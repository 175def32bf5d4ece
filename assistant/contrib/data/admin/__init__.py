"""The pages of what is exposed and can be reached, in the admin, and in the control panel where that is installed."""

from assistant.contrib.data.admin import exposed_page, reach_page

__all__ = ["exposed_page", "reach_page"]
