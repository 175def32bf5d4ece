"""Registers all pages of the control panel, and what other optional apps show in them."""

from __future__ import annotations

from importlib import import_module

from assistant import optional_apps
from assistant.admin.base import tenant_scope
from assistant.contrib.panel.admin import assistants, conversations, inbox, settings, spend, tenants, tools

__all__ = ["assistants", "conversations", "inbox", "settings", "spend", "tenants", "tools"]

tenant_scope.STYLES.append("assistant/panel/panel.css")
for app in optional_apps.installed():
    if app.has("admin") and app.has("admin.panel"):
        import_module(f"{app.name}.admin.panel")
