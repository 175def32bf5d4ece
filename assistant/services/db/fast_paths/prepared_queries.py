"""Queries whose SQL is compiled once, because Django compiles one ten times as long as the database runs it."""

from __future__ import annotations

import copy
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.contrib.auth import get_user_model
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.query import ValuesListIterable
from django.db.models.sql.compiler import SQLCompiler

from assistant.toolkit.fast_paths import is_used

Row = TypeVar("Row")
# The name of this fast path.
PREPARED = "prepared statements"
# Placeholder values of parameters while the SQL is compiled; they fit into every column and occur nowhere else.
_INTEGER, _TEXT, _UUID = 2_047_483_000, "prepared-parameter-", 2**127
# The attribute of a connection that caches the converters of each query.
_CONVERTERS = "_converters_of_prepared"
_PLACEHOLDER = re.compile("(?<!%)%s")
_WORD = re.compile("[a-z_]+")


class PreparedQuery(Generic[Row]):
    """A query with named parameters, compiled once for each database vendor.

    Args:
        build: returns the queryset for the parameters, which are passed by name.
        parameters: each parameter's name and type: int, str, UUID, or `UserKey`. Values cannot be None.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], **parameters: type) -> None:
        self._build = build
        self._parameters = Parameters(parameters)
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, **values: Any) -> list[Row]:
        """Return the rows that the queryset would return for these values."""
        if not is_used(PREPARED):
            return list(self._build(**values))
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._compiled:
            self._compiled[connection.vendor] = self._compile()
        compiled = self._compiled[connection.vendor]
        bound = compiled.statement.bind(values)
        # Cached, because finding the converters of a hundred columns takes longer than reading a row. The cache is an
        # attribute of the connection, to which converters refer, so that it is freed with it.
        converters = vars(connection).setdefault(_CONVERTERS, {})
        if self not in converters:
            converters[self] = compiled.converters(connection)
        if compiled.has_plain_rows and not converters[self]:
            with connection.cursor() as cursor:
                cursor.execute(compiled.statement.sql, bound)
                return list(cursor.fetchall())
        compiler = copy.copy(compiled.compiler)
        vars(compiler).update(
            connection=connection,
            as_sql=lambda *_, **__: (compiled.statement.sql, bound),
            get_converters=lambda _: converters[self],
        )
        # Not by `copy.copy`, which evaluates the queryset, and not by setting `query`, which changes the row class.
        queryset: Any = object.__new__(type(compiled.queryset))
        vars(queryset).update(vars(compiled.queryset), _query=_CompiledQuery(compiled.queryset.query, compiler))
        return list(queryset._iterable_class(queryset))

    def first(self, **values: Any) -> Row | None:
        """Return the first row, or None."""
        return next(iter(self.rows(**values)), None)

    def _compile(self) -> _Compiled:
        queryset = self._build(**self._parameters.placeholders)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        statement = self._parameters.statement(sql, params)
        has_plain_rows = queryset._iterable_class is ValuesListIterable
        return _Compiled(queryset, compiler, statement, has_plain_rows)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A query compiled for one database vendor.

    Attributes:
        has_plain_rows: whether rows are the database's tuples, unless a value needs converting.
    """

    queryset: QuerySet[Any, Any]
    compiler: SQLCompiler
    statement: Statement
    has_plain_rows: bool

    def converters(self, connection: BaseDatabaseWrapper) -> Any:
        """Return Django's converters of the columns' values for a connection."""
        compiler = copy.copy(self.compiler)
        compiler.connection = connection
        return compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])


@dataclass(frozen=True, slots=True)
class Statement:
    """A compiled statement with named parameters, and how the value of each is found."""

    sql: str
    _parts: Mapping[str, Any]

    def bind(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the SQL for these values."""
        bound = {}
        for name, part in self._parts.items():
            if isinstance(part, _Parameter):
                value = values[part.name]
                bound[name] = value if part.adapt is None else part.adapt(value)
            else:
                bound[name] = part
        return bound


class Parameters:
    """The named parameters of a query, with placeholder values for compiling it.

    Args:
        kinds: each parameter's name and type, as for `PreparedQuery`.
    """

    def __init__(self, kinds: Mapping[str, type]) -> None:
        self._kinds = kinds

    @cached_property
    def placeholders(self) -> dict[str, Any]:
        """The placeholder values by name. Made at first use, because the user model must have been loaded."""
        return {name: _placeholder(kind, number) for number, (name, kind) in enumerate(self._kinds.items())}

    def statement(self, sql: str, params: Sequence[Any]) -> Statement:
        """Turn compiled SQL into a statement that can be bound to values of these parameters.

        Constants become part of the SQL: SQLite plans a statement again for every call if a parameter is in a place
        where a partial index might be used. Parameters become named, because Django searches the SQL of every call for
        positional ones.

        Args:
            params: the parameters of `sql`.

        Raises:
            ValueError: the SQL does not use one of the named parameters.
        """
        texts = _PLACEHOLDER.split(sql)
        parts: dict[str, Any] = {}
        pieces = [texts[0]]
        for index, (param, text) in enumerate(zip(params, texts[1:], strict=True)):
            name = f"p{index}"
            part = self._part(param)
            if not isinstance(part, _Parameter) and (literal := _literal(part)):
                pieces += (literal, text)
                continue
            parts[name] = part
            pieces += (f"%({name})s", text)
        found = {part.name for part in parts.values() if isinstance(part, _Parameter)}
        if missing := set(self.placeholders) - found:
            raise ValueError(f"parameters that the query does not hold: {sorted(missing)}")
        return Statement("".join(pieces), parts)

    def _part(self, param: Any) -> Any:
        for name, placeholder in self.placeholders.items():
            if isinstance(placeholder, uuid.UUID) and param == placeholder.hex:
                return _Parameter(name, lambda value: value.hex)
            if isinstance(param, type(placeholder)) and param == placeholder:
                # psycopg has a subclass of int for each size of integer.
                return _Parameter(name, type(param) if isinstance(param, int) else None)
        return param


def _literal(value: Any) -> str:
    """Return a constant's SQL, or "" if it might differ between databases."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(int(value))
    # `str.__str__`, because members of an enumeration may override it.
    return f"'{str.__str__(value)}'" if isinstance(value, str) and _WORD.fullmatch(value) else ""


class UserKey:
    """The type of the user model's primary key, as a parameter's type."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A named parameter, and how its value is adapted for the database; None if it is not."""

    name: str
    adapt: Callable[[Any], Any] | None


@dataclass(slots=True)
class _CompiledQuery:
    """A Django query whose compiler has compiled its SQL already."""

    _query: Any
    _compiler: SQLCompiler

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


def _placeholder(kind: type, number: int) -> Any:
    if kind is UserKey:
        kind = _user_key_type()
    if kind is int:
        return _INTEGER + number
    if kind is uuid.UUID:
        return uuid.UUID(int=_UUID + number)
    if kind is str:
        return f"{_TEXT}{number}"
    raise TypeError(f"no placeholder for {kind}")
