"""Tools of optional apps, which tests of the core call."""

from __future__ import annotations

from assistant.contrib.calculator.library.calculator import calculate
from assistant.contrib.questions.library.questions import ask_user
from assistant.contrib.timed.library.clock import convert_time, current_time

__all__ = ["ask_user", "calculate", "convert_time", "current_time"]
