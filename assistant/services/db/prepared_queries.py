"""Queries whose SQL is written once: Django takes ten times as long to write one as the database to answer it."""

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

Row = TypeVar("Row")
# Values that stand in for parameters while the SQL is written; they fit into every column and occur nowhere else.
_INTEGER, _TEXT, _UUID = 2_047_483_000, "prepared-parameter-", 2**127
# The attribute of a connection that holds the converters of each query.
_CONVERTERS = "_converters_of_prepared"
_PLACEHOLDER = re.compile("(?<!%)%s")
_WORD = re.compile("[a-z_]+")


class PreparedQuery(Generic[Row]):
    """A query with named parameters.

    Args:
        build: Makes the query set from the parameters, all by name. It is called once for each kind of database.
        parameters: Each parameter's name and type: int, str, UUID, or `UserKey`.
            None is not a value.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], **parameters: type) -> None:
        self._build = build
        self._parameters = Parameters(parameters)
        self._made: dict[str, _Made] = {}

    def rows(self, **values: Any) -> list[Row]:
        """What the query finds for these values, as the query set would give it."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor not in self._made:
            self._made[connection.vendor] = self._make()
        made = self._made[connection.vendor]
        bound = made.statement.bind(values)
        # Found once: of rows with a hundred columns that takes longer than to read one. They hold their connection, so
        # only that keeps them: a request of a synchronous view has one of its own.
        kept = vars(connection).setdefault(_CONVERTERS, {})
        if self not in kept:
            kept[self] = made.converters(connection)
        if made.is_plain and not kept[self]:
            with connection.cursor() as cursor:
                cursor.execute(made.statement.sql, bound)
                return list(cursor.fetchall())
        compiler = copy.copy(made.compiler)
        vars(compiler).update(
            connection=connection,
            as_sql=lambda *_, **__: (made.statement.sql, bound),
            get_converters=lambda _: kept[self],
        )
        # By hand: `copy.copy` asks the database first, and setting `query` changes what rows are made into.
        asked: Any = object.__new__(type(made.queryset))
        vars(asked).update(vars(made.queryset), _query=_Written(made.queryset.query, compiler))
        return list(asked._iterable_class(asked))

    def first(self, **values: Any) -> Row | None:
        """The first of the rows, if there is any."""
        return next(iter(self.rows(**values)), None)

    def _make(self) -> _Made:
        queryset = self._build(**self._parameters.stand_ins)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        return _Made(queryset, compiler, self._parameters.statement(sql, params))


@dataclass(frozen=True, slots=True)
class _Made:
    """A query for one kind of database."""

    queryset: QuerySet[Any, Any]
    compiler: SQLCompiler
    statement: Statement

    @property
    def is_plain(self) -> bool:
        """Whether its rows are tuples as the database gives them, where no value is converted."""
        return self.queryset._iterable_class is ValuesListIterable

    def converters(self, connection: BaseDatabaseWrapper) -> Any:
        """How the values of the rows are converted that a connection gives."""
        compiler = copy.copy(self.compiler)
        compiler.connection = connection
        return compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])


@dataclass(frozen=True, slots=True)
class Statement:
    """The SQL of a statement, with its parameters by name, and where their values come from."""

    sql: str
    _parts: Mapping[str, Any]

    def bind(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters for these values."""
        return {name: part(values) if isinstance(part, _Parameter) else part for name, part in self._parts.items()}


class Parameters:
    """Named parameters of a query, with values that stand in for them while its SQL is written.

    Args:
        kinds: Each parameter's name and type, as for `PreparedQuery`.
    """

    def __init__(self, kinds: Mapping[str, type]) -> None:
        self._kinds = kinds

    @cached_property
    def stand_ins(self) -> dict[str, Any]:
        """By name; made late, for a user model may be read only when all are loaded."""
        return {name: _stand_in(kind, number) for number, (name, kind) in enumerate(self._kinds.items())}

    def statement(self, sql: str, params: Sequence[Any], columns: Sequence[str] = ()) -> Statement:
        """A statement as a compiler wrote it, to be bound to values of these parameters.

        What stays the same is written into it: SQLite plans a statement anew each time if a parameter stands where a
        partial index might be used. The others have names, for Django searches a statement for those without.

        Args:
            params: those of the SQL. The first are what is set of `columns`, which are bound by their own names.

        Raises:
            ValueError: one of the named parameters is not among them.
        """
        texts = _PLACEHOLDER.split(sql)
        parts: dict[str, Any] = {}
        written = [texts[0]]
        for place, (param, text) in enumerate(zip(params, texts[1:], strict=True)):
            name, part = f"p{place}", self._part(param)
            if place < len(columns):
                name = columns[place]
                part = _Parameter(name, _same)
            elif not isinstance(part, _Parameter) and (literal := _literal(part)):
                written += (literal, text)
                continue
            parts[name] = part
            written += (f"%({name})s", text)
        found = {part.name for part in parts.values() if isinstance(part, _Parameter)}
        if missing := set(self.stand_ins) - found:
            raise ValueError(f"parameters that the query does not hold: {sorted(missing)}")
        return Statement("".join(written), parts)

    def _part(self, param: Any) -> Any:
        for name, stand_in in self.stand_ins.items():
            if isinstance(stand_in, uuid.UUID) and param == stand_in.hex:
                return _Parameter(name, lambda value: value.hex)
            if isinstance(param, type(stand_in)) and param == stand_in:
                # psycopg tells integers by their size, each a subclass of int.
                return _Parameter(name, type(param) if isinstance(param, int) else _same)
        return param


def _same(value: Any) -> Any:
    return value


def _literal(value: Any) -> str:
    """A constant as it is written in SQL, or nothing if that might differ between databases."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(int(value))
    # Not as a member of an enumeration calls itself.
    return f"'{str.__str__(value)}'" if isinstance(value, str) and _WORD.fullmatch(value) else ""


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
