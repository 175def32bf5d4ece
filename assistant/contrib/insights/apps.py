"""The Django app of the quality of answers."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class InsightsConfig(OptionalApp):
    name = "assistant.contrib.insights"
    label = "assistant_insights"
    verbose_name = "Assistant: quality of answers"

    def register(self) -> None:
        from assistant.contrib.insights.event_names import QUALITY_STEP
        from assistant.contrib.insights.services import retention
        from assistant.services import tenant_events
        from assistant.services.jobs import jobs

        tenant_events.add_event(
            QUALITY_STEP, _("quality.step: answers of an assistant have become worse than in the weeks before")
        )
        jobs.handled_in("assistant.contrib.insights.services.summing")
        retention.register()
