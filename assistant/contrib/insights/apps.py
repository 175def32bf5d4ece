"""The Django app of the quality of answers, and of warnings of it and of spend."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class InsightsConfig(OptionalApp):
    name = "assistant.contrib.insights"
    label = "assistant_insights"
    verbose_name = "Assistant: quality of answers"

    def register(self) -> None:
        from assistant.contrib.insights.event_names import QUALITY_STEP, SPEND_THRESHOLD
        from assistant.contrib.insights.services import retention
        from assistant.services import tenant_events
        from assistant.services.jobs import jobs
        from assistant.services.tenancy import limits_form

        tenant_events.add_event(
            QUALITY_STEP, _("quality.step: answers of an assistant have become worse than in the weeks before")
        )
        tenant_events.add_event(
            SPEND_THRESHOLD, _("spend.threshold: a part of the tenant's limit of cost a month is used")
        )
        jobs.handled_in("assistant.contrib.insights.services.summing")
        jobs.handled_in("assistant.contrib.insights.services.spend_warnings")
        limits_form.use_form("assistant.contrib.insights.admin.limits_form.WarnedLimitsForm")
        retention.register()
