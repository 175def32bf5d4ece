"""End users and the origins of the widget in the admin, and what the control panel shows of them."""

from django.apps import apps

from assistant.contrib.end_users.admin import end_users

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.end_users.admin import panel  # noqa: F401 - it registers

__all__ = ["end_users"]
