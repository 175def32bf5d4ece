"""Reads the price list together with an assistant, and returns the prices that hold for its runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from django.db.models import OuterRef, Q, Subquery, TextField
from django.db.models.functions import JSONArray

from assistant.contrib.price_list.models import ModelPrice
from assistant.core.values.pricing import ListedPrice, Price
from assistant.models import Assistant
from assistant.services.assistants.provider_choice import NO_LISTED_PRICES, ListedPrices
from assistant.services.db.json_rows import JsonArrayOf

# The annotation of an assistant that holds the rows.
COLUMN = "listed_prices"


def price_column() -> Subquery:
    """Return the annotation `COLUMN`: the rows for any provider, the deployment's, and the tenant's own."""
    of_tenant = Q(tenant=None) | Q(tenant=OuterRef("tenant"))
    row = JSONArray("provider_id", "model", "input", "output", "cached_input", "cache_write", "valid_from")
    rows = ModelPrice.objects.filter(of_tenant).order_by().annotate(rows=JsonArrayOf(row))
    # As text: most deployments have no rows, and the field's conversion from JSON would be called for None too.
    return Subquery(rows.values("rows"), output_field=TextField())


def listed_prices(assistant: Assistant, provider_id: int | None) -> ListedPrices:
    """Return the prices of a provider, and those of any provider.

    Args:
        assistant: read with `price_column`.
        provider_id: None for the environment's provider.
    """
    listed: str | None = getattr(assistant, COLUMN, None)
    if not listed:
        return NO_LISTED_PRICES
    rows: Sequence[Sequence[Any]] = json.loads(listed)
    own = [_listed(row) for row in rows if row[0] is not None and row[0] == provider_id]
    return ListedPrices(own, [_listed(row) for row in rows if row[0] is None])


def _listed(row: Sequence[Any]) -> ListedPrice:
    _, model, tokens_in, tokens_out, *of_caches, since = row
    cached, written = (None if price is None else float(price) for price in of_caches)
    price = Price(float(tokens_in), float(tokens_out), cached, written)
    return ListedPrice(model, price, date.fromisoformat(since))
