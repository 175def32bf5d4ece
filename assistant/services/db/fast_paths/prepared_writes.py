"""INSERT and UPDATE statements whose SQL is compiled once, as that of `prepared_queries` is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import DateTimeField, Expression, Field, IntegerField, JSONField, Model, QuerySet
from django.db.models.sql import InsertQuery, UpdateQuery
from django.utils import timezone

from assistant.services.db.fast_paths.prepared_queries import PREPARED, Parameters, Statement
from assistant.toolkit.fast_paths import is_used

Row = TypeVar("Row", bound=Model)
# The prefix of parameters that hold a column's new value.
_SET = "set_"


class PreparedInsert(Generic[Row]):
    """Inserts rows of a model as `save` does, but sends no signals; this project has no receivers.

    Args:
        model: the model of the rows.
        expressions: the columns that the database computes, each with an expression without parameters. The inserted
            instance does not get their values.
    """

    def __init__(self, model: type[Row], **expressions: Expression) -> None:
        self._expressions = expressions
        self._fields = model._meta.local_concrete_fields
        self._key = model._meta.pk
        self._compiled: dict[str, str] = {}
        self._model = model

    def insert(self, row: Row) -> Row:
        """Insert one row and set the primary key that the database generates. Raises what `save` raises."""
        if not is_used(PREPARED):
            self._with_expressions(row).save(force_insert=True)
            return row
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._compiled:
            self._compiled[connection.vendor] = self._compile(row)
        params = [field.get_db_prep_save(field.pre_save(row, True), connection) for field in self._bound_fields]
        with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute(self._compiled[connection.vendor], params)
            if self._is_keyed_by_database:
                setattr(row, self._key.attname, cursor.fetchone()[0])
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
        return row

    def insert_all(self, rows: Sequence[Row]) -> None:
        """Insert rows with one statement, which is prepared only for a single row, the usual case."""
        if len(rows) == 1:
            self.insert(rows[0])
        else:
            self._model._default_manager.bulk_create([self._with_expressions(row) for row in rows])

    @cached_property
    def _is_keyed_by_database(self) -> bool:
        return bool(self._key.db_returning)

    @cached_property
    def _inserted_fields(self) -> list[Field[Any, Any]]:
        return [field for field in self._fields if not (field is self._key and self._is_keyed_by_database)]

    @cached_property
    def _bound_fields(self) -> list[Field[Any, Any]]:
        return [field for field in self._inserted_fields if field.name not in self._expressions]

    def _with_expressions(self, row: Row) -> Row:
        for name, expression in self._expressions.items():
            setattr(row, name, expression)
        return row

    def _compile(self, row: Row) -> str:
        query = InsertQuery(self._model)
        query.insert_values(self._inserted_fields, [self._with_expressions(copy.copy(row))])
        compiler = query.get_compiler(using=DEFAULT_DB_ALIAS)
        compiler.returning_fields = [self._key] if self._is_keyed_by_database else None
        ((sql, _),) = compiler.as_sql()
        return str(sql)


class PreparedUpdate:
    """Updates columns of the rows of a queryset.

    Args:
        build: returns the queryset for the parameters, which are passed by name, as for `PreparedQuery`.
        columns: the names of the fields to update.
        expressions: the fields that the database computes, by name, each with an expression without parameters.
        parameters: each parameter's name and type.
    """

    def __init__(
        self,
        build: Callable[..., QuerySet[Any]],
        *columns: str,
        expressions: Mapping[str, Expression] | None = None,
        **parameters: type,
    ) -> None:
        self._build = build
        self._expressions = expressions or {}
        self._columns = columns
        self._parameters = Parameters(parameters)
        self._compiled: dict[str, tuple[list[Field[Any, Any]], Statement]] = {}

    def update(self, *, to: dict[str, Any], **values: Any) -> int:
        """Set the columns to the values of `to` in the rows that the parameters' `values` select.

        Returns:
            The number of rows updated.
        """
        if not is_used(PREPARED):
            return int(self._build(**values).update(**to, **self._expressions))
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._compiled:
            self._compiled[connection.vendor] = self._compile()
        fields, statement = self._compiled[connection.vendor]
        new = {_SET + field.attname: field.get_db_prep_save(to[field.attname], connection) for field in fields}
        with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute(statement.sql, statement.bind({**values, **new}))
            return int(cursor.rowcount)

    def _compile(self) -> tuple[list[Field[Any, Any]], Statement]:
        queryset = self._build(**self._parameters.placeholders)
        fields = [queryset.model._meta.get_field(name) for name in self._columns]
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values({**{field.attname: _any_value(field) for field in fields}, **self._expressions})
        sql, params = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        return fields, self._parameters.statement(sql, params, [_SET + field.attname for field in fields])


def _any_value(field: Field[Any, Any]) -> Any:
    """Return a value of the field's type other than None, for which Django compiles different SQL."""
    if isinstance(getattr(field, "target_field", field), IntegerField):
        return 1
    if isinstance(field, DateTimeField):
        return timezone.now()
    return {} if isinstance(field, JSONField) else "x"
