"""Webhooks in the control panel."""

from django.apps import apps

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.webhooks.admin import panel, webhooks  # noqa: F401 - they register
