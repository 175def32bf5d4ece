"""The tenants that a report is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class TenantFilter:
    """The ids of the tenants that a report reads; None for all of them, which only operators may ask for."""

    ids: frozenset[int] | None

    def rows(self, rows: QuerySet[Row], tenant: str = "tenant") -> QuerySet[Row]:
        """Return the rows of these tenants; `tenant` is the lookup from a row to its tenant."""
        return rows if self.ids is None else rows.filter(**{f"{tenant}__in": self.ids})
