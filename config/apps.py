"""This checkout's Django apps: its short names of commands, and the admin, whose site is the control panel."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class CheckoutConfig(AppConfig):
    name = "config"


class PanelConfig(AdminConfig):
    default = False
    default_site = "assistant.contrib.panel.site.PanelSite"
