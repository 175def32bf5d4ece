"""The Django app of webhooks."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class WebhooksConfig(OptionalApp):
    name = "assistant.contrib.webhooks"
    label = "assistant_webhooks"
    verbose_name = "Assistant: webhooks"

    def register(self) -> None:
        from assistant.contrib.webhooks.services import retention
        from assistant.services import loop_services, tenant_events

        tenant_events.receive_in("assistant.contrib.webhooks.services.events")
        loop_services.add_service("assistant.contrib.webhooks.services.sender.sender_of_server")
        retention.register()
