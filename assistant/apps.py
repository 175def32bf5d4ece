"""The Django app: discovers the tools of every installed app and registers the system checks."""

from __future__ import annotations

from django.apps import AppConfig


class AssistantConfig(AppConfig):
    name = "assistant"
    verbose_name = "Assistant"

    def ready(self) -> None:
        from assistant import checks  # noqa: F401 - registers the checks
        from assistant.services import catalogue

        catalogue.discover_installed()
