"""The Django app of the health of providers."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class ProviderHealthConfig(OptionalApp):
    name = "assistant.contrib.provider_health"
    label = "assistant_provider_health"
    verbose_name = "Assistant: health of providers"

    def register(self) -> None:
        from assistant.services.conversations.added_notices import add_notice

        add_notice(
            "provider",
            read="assistant.contrib.provider_health.services.notice.provider_of",
            watch="assistant.contrib.provider_health.services.watching.watch_providers",
        )
