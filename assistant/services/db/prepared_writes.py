"""Statements that write one row and whose SQL is written once, as that of `prepared` queries is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import DateTimeField, Field, IntegerField, JSONField, Model, QuerySet
from django.db.models.sql import InsertQuery, UpdateQuery
from django.utils import timezone

from assistant.services.db.prepared_queries import Parameters, Statement

Row = TypeVar("Row", bound=Model)
# Before the name of a column that is set, in the names of parameters.
_SET = "set_"


class PreparedInsert(Generic[Row]):
    """Inserts rows of a model as `save` does, but for signals, of which this project has none."""

    def __init__(self, model: type[Row]) -> None:
        self._fields = model._meta.local_concrete_fields
        self._key = model._meta.pk
        self._made: dict[str, str] = {}
        self._model = model

    def insert(self, row: Row) -> Row:
        """Insert one row, which gets the key that the database gives it. Raises as `save` does."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._made:
            self._made[connection.vendor] = self._make(row)
        params = [field.get_db_prep_save(field.pre_save(row, True), connection) for field in self._given]
        with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute(self._made[connection.vendor], params)
            if self._is_keyed_by_database:
                setattr(row, self._key.attname, cursor.fetchone()[0])
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
        return row

    def insert_all(self, rows: Sequence[Row]) -> None:
        """Insert rows with one statement; only that of a single row, as nearly all are, is written once."""
        if len(rows) == 1:
            self.insert(rows[0])
        else:
            self._model._default_manager.bulk_create(rows)

    @cached_property
    def _is_keyed_by_database(self) -> bool:
        return bool(self._key.db_returning)

    @cached_property
    def _given(self) -> list[Field[Any, Any]]:
        return [field for field in self._fields if not (field is self._key and self._is_keyed_by_database)]

    def _make(self, row: Row) -> str:
        query = InsertQuery(self._model)
        query.insert_values(self._given, [row])
        compiler = query.get_compiler(using=DEFAULT_DB_ALIAS)
        compiler.returning_fields = [self._key] if self._is_keyed_by_database else None
        ((sql, _),) = compiler.as_sql()
        return str(sql)


class PreparedUpdate:
    """Sets columns of the rows that a query set holds.

    Args:
        build: Makes the query set from the parameters, all by name, as for `PreparedQuery`.
        columns: The names of the fields that are set.
        parameters: Each parameter's name and type.
    """

    def __init__(self, build: Callable[..., QuerySet[Any]], *columns: str, **parameters: type) -> None:
        self._build = build
        self._columns = columns
        self._parameters = Parameters(parameters)
        self._made: dict[str, tuple[list[Field[Any, Any]], Statement]] = {}

    def update(self, *, to: dict[str, Any], **values: Any) -> int:
        """Set the columns `to` values, all by name, for these values of the parameters; returns how many rows."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._made:
            self._made[connection.vendor] = self._make()
        fields, statement = self._made[connection.vendor]
        new = {_SET + field.attname: field.get_db_prep_save(to[field.attname], connection) for field in fields}
        with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute(statement.sql, statement.bind({**values, **new}))
            return int(cursor.rowcount)

    def _make(self) -> tuple[list[Field[Any, Any]], Statement]:
        queryset = self._build(**self._parameters.stand_ins)
        fields = [queryset.model._meta.get_field(name) for name in self._columns]
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values({field.attname: _anything(field) for field in fields})
        sql, params = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        return fields, self._parameters.statement(sql, params, [_SET + field.attname for field in fields])


def _anything(field: Field[Any, Any]) -> Any:
    """Some value of a field, which is not null: the SQL of null is another."""
    if isinstance(getattr(field, "target_field", field), IntegerField):
        return 1
    if isinstance(field, DateTimeField):
        return timezone.now()
    return {} if isinstance(field, JSONField) else "x"
