"""The Django app of webhooks."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class WebhooksConfig(OptionalApp):
    name = "assistant.contrib.webhooks"
    label = "assistant_webhooks"
    verbose_name = "Assistant: webhooks"

    def register(self) -> None:
        from assistant.contrib.webhooks.services import retention
        from assistant.services import loop_services, tenant_events
        from assistant.services.jobs.jobs import handled_in

        tenant_events.receive_in("assistant.contrib.webhooks.services.events")
        loop_services.add_service("assistant.contrib.webhooks.services.sender.sender_of_server")
        tenant_events.add_event("audit.entry", _("audit.entry: an entry of the audit was written"))
        handled_in("assistant.contrib.webhooks.services.audit_events")
        retention.register()
