"""What optional apps add to assistants: conditions of their rows, rows of their models on their pages, and prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django.db.models.expressions import BaseExpression

    from assistant.core.values.pricing import ListedPrice
    from assistant.models import Assistant

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


class ListedPrices(NamedTuple):
    """What an optional app's list says of an assistant's provider, and of any provider."""

    own: Sequence[ListedPrice] = ()
    general: Sequence[ListedPrice] = ()


_price_lists: list[str] = []


def price_with(listed: str) -> None:
    """Have an optional app's list say what models cost.

    Args:
        listed: the dotted name of a function of an assistant and the primary key of the provider, None for the
            environment's, which returns `ListedPrices`. It reads what an annotation holds, since runs open without a
            further query.
    """
    _price_lists.append(listed)


def listed_prices(assistant: Assistant, provider_id: int | None) -> ListedPrices:
    """Return what the list of an optional app says; nothing without one."""
    if not _price_lists:
        return ListedPrices()
    prices: ListedPrices = import_string(_price_lists[0])(assistant, provider_id)
    return prices
