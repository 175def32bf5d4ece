"""Lists of tables that grow with use: the cost of a page must not grow with the number of rows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.utils.functional import cached_property

# Rows that a list counts and pages through; the others can be found with filters.
MAX_COUNTED_ROWS = 10_000


class BoundedPaginator(Paginator[Any]):
    """Counts `MAX_COUNTED_ROWS` rows at most, because databases read every row that they count."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[:MAX_COUNTED_ROWS].count())


class LongList(admin.ModelAdmin[Any]):
    """A list that avoids reading every row: no second count of all rows, no counts for the choices of a filter.

    Nor can it have Django's `date_hierarchy`.
    """

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
