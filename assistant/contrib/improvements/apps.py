"""The Django app of the improvement desk and of annotations."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class ImprovementsConfig(OptionalApp):
    name = "assistant.contrib.improvements"
    label = "assistant_improvements"
    verbose_name = _("Assistant: improvements")

    def register(self) -> None:
        from assistant.contrib.improvements.services import retention
        from assistant.services.jobs import jobs

        jobs.handled_in("assistant.contrib.improvements.services.grouping")
        retention.register()
