"""The Django app of evaluations and hostile checks."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class EvaluationsConfig(OptionalApp):
    name = "assistant.contrib.evaluations"
    label = "assistant_evaluations"
    verbose_name = "Assistant: evaluations and hostile checks"

    def register(self) -> None:
        from assistant.contrib.evaluations.job_names import EVALUATE_JOB, HOSTILE_CHECKS_JOB
        from assistant.contrib.evaluations.services import retention
        from assistant.services.jobs import jobs, names

        names.show_to_tenants(EVALUATE_JOB)
        names.show_to_tenants(HOSTILE_CHECKS_JOB)
        jobs.handled_in("assistant.contrib.evaluations.services.evaluations.background")
        jobs.handled_in("assistant.contrib.evaluations.services.hostile_checks.background")
        retention.register()
