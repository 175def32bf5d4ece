"""Returns the prices of the list that hold for the runs of an assistant that was read with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from assistant.contrib.price_list.column import COLUMN
from assistant.core.values.pricing import ListedPrice, Price
from assistant.models import Assistant
from assistant.services.assistants.additions import ListedPrices


def listed_prices(assistant: Assistant, provider_id: int | None) -> ListedPrices:
    """Return the prices of a provider, and those of any provider.

    Args:
        assistant: read with `price_column`.
        provider_id: None for the environment's provider.
    """
    listed: str | None = getattr(assistant, COLUMN, None)
    if not listed:
        return ListedPrices()
    rows: Sequence[Sequence[Any]] = json.loads(listed)
    own = [_listed(row) for row in rows if row[0] is not None and row[0] == provider_id]
    return ListedPrices(own, [_listed(row) for row in rows if row[0] is None])


def _listed(row: Sequence[Any]) -> ListedPrice:
    _, model, tokens_in, tokens_out, *of_caches, since = row
    cached, written = (None if price is None else float(price) for price in of_caches)
    price = Price(float(tokens_in), float(tokens_out), cached, written)
    return ListedPrice(model, price, date.fromisoformat(since))
