"""Bundles in the control panel."""

from django.apps import apps

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.bundles.admin import panel  # noqa: F401 - it registers
