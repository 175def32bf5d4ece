"""What optional apps add to assistants: conditions of their rows, and rows of their own models on their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.models.expressions import BaseExpression

# What is read with each assistant that answers: expressions of its row, by name.
ANNOTATIONS: dict[str, BaseExpression] = {}
# Dotted names of inlines of Django's admin with the base `Scoped`, which are imported with the first page.
INLINES: list[str] = []


def add_inline(inline: str) -> None:
    """Show a row of an app's model, which refers to the assistant, on the page of an assistant that is saved.

    Args:
        inline: its dotted name.
    """
    INLINES.append(inline)
