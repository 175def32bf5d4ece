"""Checks that optional apps add to `readyz`, and probes beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.module_loading import import_string

_checks: dict[str, Callable[[], str | None]] = {}
_probes: dict[str, str] = {}


def check_with(name: str, check: Callable[[], str | None]) -> None:
    """Add a check.

    Args:
        check: returns "ok", "failed" or a word for the reason; None if there is nothing to check.
    """
    _checks[name] = check


def outcomes() -> dict[str, str]:
    """Return what each check says, by its name, but for those that have nothing to check."""
    return {name: outcome for name, check in _checks.items() if (outcome := check()) is not None}


def add_probe(name: str, view: str) -> None:
    """Have an address answered before all middleware, as `readyz` is.

    Args:
        name: the address below the mount.
        view: the dotted name of its view, which is imported with the addresses.
    """
    _probes[name] = view


def added_probes() -> dict[str, Any]:
    """Return the views of the added probes by their addresses."""
    return {name: import_string(view) for name, view in _probes.items()}
