"""What optional apps add to the settings of a tenant: rows of their own models, as inlines."""

from __future__ import annotations

from typing import Any

_inlines: list[type[Any]] = []


def add_inline(inline: type[Any]) -> None:
    """Show a row of an app's model on the page of a tenant's settings.

    Args:
        inline: an inline of Django's admin for a model that refers to the tenant, with `Scoped` as a base.
    """
    _inlines.append(inline)


def added_inlines() -> tuple[type[Any], ...]:
    """Return the inlines of all apps."""
    return tuple(_inlines)
