"""The Django app of the weather tool."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class WeatherConfig(OptionalApp):
    name = "assistant.contrib.weather"
    label = "assistant_weather"
    verbose_name = "Assistant: weather"
