"""The Django app of the deployment."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class DeployConfig(OptionalApp):
    name = "assistant.contrib.deploy"
    label = "assistant_deploy"
    verbose_name = "Assistant: deployment"

    def register(self) -> None:
        from assistant.services import loop_services

        loop_services.add_service("assistant.contrib.deploy.loop_watch.LoopWatch")
