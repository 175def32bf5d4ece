"""Checks that optional apps add to `readyz`."""

from __future__ import annotations

from collections.abc import Callable

_checks: dict[str, Callable[[], str | None]] = {}


def check_with(name: str, check: Callable[[], str | None]) -> None:
    """Add a check.

    Args:
        check: returns "ok", "failed" or a word for the reason; None if there is nothing to check.
    """
    _checks[name] = check


def outcomes() -> dict[str, str]:
    """Return what each check says, by its name, but for those that have nothing to check."""
    return {name: outcome for name, check in _checks.items() if (outcome := check()) is not None}
