"""Lines of evidence in tests, which find other documents than the test before."""

from __future__ import annotations

from assistant.services.knowledge import evidence


def forget_lines() -> None:
    """Draw all lines anew with the next searches."""
    with evidence._lock:
        evidence._kept.clear()
        evidence._failed.clear()
