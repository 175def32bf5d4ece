"""Which rows of the project somebody may see: documents that come from rows follow them. An optional app knows it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, cast

from django.utils.module_loading import import_string

from assistant.toolkit import ToolContext


class RowRule(Protocol):
    """Knows which rows somebody may see, in a thread without an event loop."""

    def __call__(self, context: ToolContext, model: str, keys: Collection[str]) -> frozenset[str]:
        """Return those of some primary keys, as texts, whose rows the context's user may see; none of other models.

        Args:
            model: as `app.Model`.
        """
        ...


_rule: str | None = None


def see_rows_with(rule: str | None) -> None:
    """Have a rule decide which rows somebody may see.

    Args:
        rule: the dotted name of a `RowRule`, which is imported when it is first asked; None ends it.
    """
    global _rule  # noqa: PLW0603 - of the whole process
    _rule = rule


def visible_keys(context: ToolContext, model: str, keys: Collection[str]) -> frozenset[str]:
    """Return those of some rows that somebody may see; none without a rule."""
    if _rule is None:
        return frozenset()
    return cast(RowRule, import_string(_rule))(context, model, keys)
