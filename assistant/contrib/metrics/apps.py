"""The Django app of Prometheus' metrics."""

from __future__ import annotations

from types import ModuleType

from django.conf import settings

from assistant.optional_apps import OptionalApp
from assistant.toolkit.lazy_module import is_there

PACKAGE = "prometheus_client"


class MetricsConfig(OptionalApp):
    name = "assistant.contrib.metrics"
    label = "assistant_metrics"
    verbose_name = "Assistant: metrics"
    for_programs = ("/metrics",)

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        super().__init__(app_name, app_module)
        if settings.ASSISTANT_METRICS_TOKEN:
            self.packages = {PACKAGE: "metrics"}

    def register(self) -> None:
        from assistant.services import metrics, readiness

        readiness.add_probe("metrics", "assistant.contrib.metrics.page.metrics_page")
        if is_there(PACKAGE):
            metrics.count_with("assistant.contrib.metrics.prometheus.Prometheus")
