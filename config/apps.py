"""This checkout's Django app of the admin, whose default site is the control panel."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class PanelConfig(AdminConfig):
    default = False
    default_site = "assistant.contrib.panel.site.PanelSite"
