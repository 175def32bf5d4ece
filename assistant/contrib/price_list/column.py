"""Reads the price list together with an assistant."""

from __future__ import annotations

from django.db.models import OuterRef, Q, Subquery, TextField
from django.db.models.functions import JSONArray

from assistant.contrib.price_list.models import ModelPrice
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
