"""End users and the origins of the widget in the admin, and what the control panel shows of them."""

from assistant.contrib.end_users.admin import end_users

__all__ = ["end_users"]
