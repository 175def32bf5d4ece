"""The Django app: discovers the tools of every installed app and registers the system checks."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings


class AssistantConfig(AppConfig):
    name = "assistant"
    verbose_name = "Assistant"

    def ready(self) -> None:
        from assistant import checks  # noqa: F401 - registers the checks
        from assistant.services import catalogue, rowsecurity

        catalogue.discover_installed()
        if settings.ROW_LEVEL_SECURITY:
            rowsecurity.hold_connections()
