"""Reads the price list as a column that any query of assistants can add."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from django.db.models import OuterRef, Q, Subquery, TextField
from django.db.models.functions import JSONArray

from assistant.core.values.pricing import NO_PRICES, ListedPrice, Price, Prices, read_prices
from assistant.models import Assistant, ModelPrice
from assistant.services.db.json_rows import JsonArrayOf


def price_column() -> Subquery:
    """Return the annotation `listed_prices`: the rows for any provider, the deployment's, and the tenant's own."""
    of_tenant = Q(tenant=None) | Q(tenant=OuterRef("tenant"))
    row = JSONArray("provider_id", "model", "input", "output", "cached_input", "cache_write", "valid_from")
    rows = ModelPrice.objects.filter(of_tenant).order_by().annotate(rows=JsonArrayOf(row))
    # As text: most deployments have no rows, and the field's conversion from JSON would be called for None too.
    return Subquery(rows.values("rows"), output_field=TextField())


def prices_of(
    undated: object, assistant: Assistant, *, provider_id: int | None = None, is_tenants: bool = False
) -> Prices:
    """Return the prices of a provider's models for the runs of an assistant.

    The rows of the price list for the provider come first, then those for any provider, then what the provider or the
    environment says, `undated`. Where a tenant's own provider has a price, it comes before those for any provider.

    Args:
        assistant: read with `price_column`.
        provider_id: None for the environment's provider.

    Raises:
        ValueError: `undated` is not valid.
    """
    listed: str | None = getattr(assistant, "listed_prices", None)
    if not listed:
        return read_prices(undated) if undated else NO_PRICES
    rows: Sequence[Sequence[Any]] = json.loads(listed)
    own = [_listed(row) for row in rows if row[0] is not None and row[0] == provider_id]
    general = [_listed(row) for row in rows if row[0] is None]
    if is_tenants:
        return read_prices(undated, before=(own,), after=(general,))
    return read_prices(undated, before=(own, general))


def _listed(row: Sequence[Any]) -> ListedPrice:
    _, model, tokens_in, tokens_out, *of_caches, since = row
    cached, written = (None if price is None else float(price) for price in of_caches)
    price = Price(float(tokens_in), float(tokens_out), cached, written)
    return ListedPrice(model, price, date.fromisoformat(since))
