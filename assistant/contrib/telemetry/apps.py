"""The Django app of OpenTelemetry spans."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class TelemetryConfig(OptionalApp):
    name = "assistant.contrib.telemetry"
    label = "assistant_telemetry"
    verbose_name = "Assistant: OpenTelemetry"
    packages = {"opentelemetry.trace": "telemetry"}

    def register(self) -> None:
        from assistant.services.toolcalls.observers import observe_with

        observe_with(
            "assistant.contrib.telemetry.observer.SPANS", if_any="assistant.client.spans.recording.is_observed"
        )
