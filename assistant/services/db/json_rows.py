"""Aggregates the rows of a subquery into one JSON value, so that another query reads them too."""

from __future__ import annotations

from typing import Any

from django.db.models import Func, JSONField
from django.db.models.sql.compiler import SQLCompiler


class JsonArrayOf(Func):
    """Aggregate all rows of a subquery into a JSON array; without an `Aggregate`'s GROUP BY, which needs a column."""

    function = "JSON_GROUP_ARRAY"
    output_field = JSONField()

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSONB_AGG")
