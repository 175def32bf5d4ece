"""What a page of a model can say about its list besides what Django asks: columns, sums, and what a look shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import Promise


def whole_number(value: Any) -> str:
    """Return a number as the language of the page writes it, without decimals."""
    return number_format(value or 0, 0, force_grouping=True)


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """What stands below a column: the name of the figure, how the database makes it, and how it is written."""

    name: str | Promise
    of: Combinable
    shown: Callable[[Any], str] = whole_number


class ListParts:
    """The base of pages that say such things.

    Attributes:
        more_columns: columns that a list offers and does not show at first.
        list_totals: the figures below columns, by the name of the column.
    """

    more_columns: ClassVar[Sequence[Any]] = ()
    list_totals: ClassVar[Mapping[str, Total]] = {}

    def more_totals(self, request: HttpRequest, rows: QuerySet[Any], shown: Sequence[Any]) -> Mapping[str, str]:
        """Return figures below columns that are no aggregate of the list's rows.

        Args:
            rows: the rows of the list with its filters, as many as it counts.
            shown: the rows of this page.
        """
        return {}

    def look_at(self, request: HttpRequest, row: Any) -> Sequence[tuple[str, str]]:
        """Return texts of a row, each with its title, that a look at it shows besides the columns."""
        return ()
