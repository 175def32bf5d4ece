"""The Django app of the calculator."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class CalculatorConfig(OptionalApp):
    name = "assistant.contrib.calculator"
    label = "assistant_calculator"
    verbose_name = "Assistant: calculator"
