"""Queries whose SQL is written once: Django takes ten times as long to write one as the database to answer it."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.contrib.auth import get_user_model
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import QuerySet
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
# Values that stand in for parameters while the SQL is written; they fit into every column and occur nowhere else.
_INTEGER, _TEXT, _UUID = 2_047_483_000, "prepared-parameter-", 2**127


class Prepared(Generic[Row]):
    """A query with named parameters.

    Args:
        build: Makes the query set from the parameters, all by name. It is called once for each kind of database.
        parameters: Each parameter's name and type: int, str, UUID, or `UserKey`.
            None is not a value.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], **parameters: type) -> None:
        self._build = build
        self._parameters = Parameters(parameters)
        self._made: dict[str, tuple[QuerySet[Any, Row], SQLCompiler, str, tuple[Any, ...]]] = {}

    def rows(self, **values: Any) -> list[Row]:
        """What the query finds for these values, as the query set would give it."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._made:
            self._made[connection.vendor] = self._make()
        queryset, compiler, sql, template = self._made[connection.vendor]
        bound = bind(template, values)
        compiler = copy.copy(compiler)
        compiler.connection = connection
        compiler.as_sql = lambda *_, **__: (sql, bound)  # type: ignore[method-assign]
        # By hand: `copy.copy` asks the database first, and setting `query` changes what rows are made into.
        asked: Any = object.__new__(type(queryset))
        vars(asked).update(vars(queryset), _query=_Written(queryset.query, compiler))
        return list(asked._iterable_class(asked))

    def first(self, **values: Any) -> Row | None:
        """The first of the rows, if there is any."""
        return next(iter(self.rows(**values)), None)

    def _make(self) -> tuple[QuerySet[Any, Row], SQLCompiler, str, tuple[Any, ...]]:
        queryset = self._build(**self._parameters.stand_ins)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        return queryset, compiler, sql, self._parameters.template(params)


class Parameters:
    """Named parameters of a query, with values that stand in for them while its SQL is written.

    Args:
        kinds: Each parameter's name and type, as for `Prepared`.
    """

    def __init__(self, kinds: Mapping[str, type]) -> None:
        self._kinds = kinds

    @cached_property
    def stand_ins(self) -> dict[str, Any]:
        """By name; made late, for a user model may be read only when all are loaded."""
        return {name: _stand_in(kind, number) for number, (name, kind) in enumerate(self._kinds.items())}

    def template(self, params: Sequence[Any]) -> tuple[Any, ...]:
        """The parameters of the SQL, for `bind`. Raises `ValueError` if one of the names is not among them."""
        template = tuple(self._part(param) for param in params)
        found = {part.name for part in template if isinstance(part, _Parameter)}
        if found != set(self.stand_ins):
            raise ValueError(f"parameters that the query does not hold: {sorted(set(self.stand_ins) - found)}")
        return template

    def _part(self, param: Any) -> Any:
        for name, stand_in in self.stand_ins.items():
            if isinstance(stand_in, uuid.UUID) and param == stand_in.hex:
                return _Parameter(name, lambda value: value.hex)
            if isinstance(param, type(stand_in)) and param == stand_in:
                # psycopg tells integers by their size, each a subclass of int.
                return _Parameter(name, type(param) if isinstance(param, int) else lambda value: value)
        return param


def bind(template: Sequence[Any], values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The parameters of a statement for these values."""
    return tuple(part(values) if isinstance(part, _Parameter) else part for part in template)


class UserKey:
    """Stands for the type of the user model's primary key, whichever it is."""


class _Parameter:
    """Where a value goes, and in which form the database takes it."""

    def __init__(self, name: str, adapt: Callable[[Any], Any]) -> None:
        self.name = name
        self._adapt = adapt

    def __call__(self, values: Mapping[str, Any]) -> Any:
        return self._adapt(values[self.name])


class _Written:
    """A query whose compiler has written its SQL already."""

    def __init__(self, query: Any, compiler: SQLCompiler) -> None:
        self._query = query
        self._compiler = compiler

    def get_compiler(self, using: str | None = None, connection: Any = None, elide_empty: bool = True) -> SQLCompiler:
        return self._compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)


def _user_key_type() -> type:
    field: Any = get_user_model()._meta.pk
    while field.remote_field:
        field = field.target_field
    types = {models.IntegerField: int, models.UUIDField: uuid.UUID, models.CharField: str}
    return next((kind for column, kind in types.items() if isinstance(field, column)), type(field))


def _stand_in(kind: type, number: int) -> Any:
    if kind is UserKey:
        kind = _user_key_type()
    if kind is int:
        return _INTEGER + number
    if kind is uuid.UUID:
        return uuid.UUID(int=_UUID + number)
    if kind is str:
        return f"{_TEXT}{number}"
    raise TypeError(f"no stand-in for {kind}")
