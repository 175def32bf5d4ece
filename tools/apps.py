"""The Django app of this deployment's tools, with the demo shop's tables."""

from __future__ import annotations

from django.apps import AppConfig


class ToolsConfig(AppConfig):
    name = "tools"
    verbose_name = "Shop"
    default_auto_field = "django.db.models.BigAutoField"
    # Where the catalogue looks for tools. The default, `tools.tools`, is for apps with a module named `tools`.
    tool_modules = "tools"
