"""The Django app of what models are sent."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from assistant.optional_apps import OptionalApp


class SentRequestsConfig(OptionalApp):
    name = "assistant.contrib.sent_requests"
    label = "assistant_sent_requests"
    verbose_name = "Assistant: sent requests"

    def register(self) -> None:
        from assistant.contrib.sent_requests.retention import too_old
        from assistant.services.jobs.jobs import handled_in
        from assistant.services.privacy import retention_rules
        from assistant.services.runs.extensions.added import add_tenant_extension

        add_tenant_extension("sent_requests", make="assistant.contrib.sent_requests.keeping.extensions_of")
        retention_rules.keep_at_most(too_old)
        handled_in("assistant.contrib.sent_requests.keeping")
        log_prompts(settings)


def log_prompts(chosen: Any) -> None:
    """Let whole prompts and replies of all tenants' runs be logged, if the settings say so."""
    if chosen.ASSISTANT_LOG_PROMPTS:
        from assistant.client.prompt_log import PromptLog
        from assistant.services.runs.extensions.deployment import add_extension

        add_extension(PromptLog())
