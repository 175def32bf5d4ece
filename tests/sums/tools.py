"""The calculator's tool, which tests of the core call."""

from __future__ import annotations

from assistant.contrib.calculator.library.calculator import calculate

__all__ = ["calculate"]
