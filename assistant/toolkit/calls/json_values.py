"""Converts Python values to JSON values, with bounds on their size and without secrets."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AnySet
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from pathlib import PurePath
from typing import Any
from uuid import UUID

import pydantic_core
from pydantic import BaseModel

from assistant.toolkit.calls.gate import discard, positional_mistake
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.context import ToolContext
from assistant.toolkit.errors import InvalidTool, ToolError
from assistant.toolkit.guards.tripwire import MAX_DEPTH, Tripwire, is_raw, is_row
from assistant.toolkit.media import Media
from assistant.toolkit.text import clean_text

# Items taken from a queryset, a generator or another source that is not a plain list.
MAX_ITEMS = 100
# Values in one result; this also stops the conversion of objects that contain themselves.
MAX_VALUES = 200_000
# Values in one result that may be converted on the event loop.
QUICK_VALUES = 2_000

Converter = Callable[[Any], Any]
_converters: list[tuple[Callable[[Any], bool], Converter]] = []
# Names of columns that are left out of results.
_SECRET_COLUMN = re.compile(
    r"(^|_)(password|passwd|secrets?|token|api_?key|private_?key|hash|hashed)($|_)", re.IGNORECASE
)


class WouldBlock(Exception):
    """The value has to be converted in a thread: it is long, or needs database queries."""


def tripwire_for(may_block: bool) -> Tripwire:
    """Return a tripwire for one value; unless `may_block`, it raises `WouldBlock` before it examines a row."""
    return Tripwire() if may_block else Tripwire(_refuse_blocking)


def _refuse_blocking() -> None:
    raise WouldBlock


def register_converter(test: Callable[[Any], bool], convert_value: Converter) -> None:
    """Register a conversion for values in results; the one registered last is tried first.

    Args:
        test: whether the conversion applies to a value: True or False. It is called for every value and must not wait.
        convert_value: returns another value, which is then converted in turn. It is called in a thread.

    Raises:
        InvalidTool: one is async, or does not take a value.
    """
    for name, function in (("test", test), ("conversion", convert_value)):
        if mistake := "is async" if is_async(function) else positional_mistake(function, 1):
            raise InvalidTool(f"The {name} of a converter {mistake}.")
    _converters.insert(0, (test, convert_value))


def to_json_value(value: Any, *, may_block: bool = True, tripwire: Tripwire | None = None) -> Any:
    """Convert a value to JSON types.

    Args:
        may_block: whether database queries and long conversions are allowed here.
        tripwire: checks the rows in the value; the caller then calls its `check_pending`. Default: a new one, if the
            value can hold rows.

    Raises:
        ForeignRow: the value contains a row of another tenant.
        ToolError: the value cannot be converted, or is too large; the message names its type.
        WouldBlock: the conversion needs a thread, and `may_block` is false.
    """
    conversion = _Conversion(may_block, MAX_VALUES if may_block else QUICK_VALUES, tripwire)
    try:
        result = conversion.convert(value, 0)
    except (TypeError, ValueError) as exc:
        raise conversion_error(value) from exc
    if tripwire is None and conversion.tripwire is not None:
        conversion.tripwire.check_pending()
    return result


def conversion_error(value: Any) -> ToolError:
    """Return the error for the model of a value that cannot be converted."""
    if isinstance(value, bytes | bytearray | memoryview):
        return ToolError("The tool returned bytes without a media type, as `Media(data, media_type)` has one.")
    return ToolError(f"The tool's result ({type(value).__name__}) cannot be shown as text.")


@dataclass(slots=True)
class _Conversion:
    """Converts one value.

    Attributes:
        left: how many values may follow.
        tripwire: None until a value can be, or hold, a database row.
        declared: within how many values with declared fields it is, whose schema says that bytes are base64.
    """

    may_block: bool
    left: int
    tripwire: Tripwire | None
    declared: int = 0

    def _checker(self) -> Tripwire:
        if self.tripwire is None:
            self.tripwire = tripwire_for(self.may_block)
        return self.tripwire

    def _check_blocking(self) -> None:
        if not self.may_block:
            raise WouldBlock

    def convert(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if self.left < 0:
            self._check_blocking()
            raise ValueError("too large")
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        if type(value) in (int, bool, type(None)):
            return value
        if type(value) is str:
            return clean_text(value)
        if hasattr(value, "_meta") and is_row(value):
            self._check_blocking()
            self._checker().check_row(value)
        for test, convert_value in _converters:
            applies: object = test(value)
            if applies is True:
                self._check_blocking()
                self._checker().check_rows_in(value)
                return self.convert(convert_value(value), depth + 1)
            if applies is not False:
                discard(applies)
                raise TypeError(f"the test of a converter gave a {type(applies).__name__}, not True or False")
        if isinstance(value, ToolContext | Media | type) or callable(getattr(value, "__await__", None)):
            discard(value)
            raise TypeError(f"a {type(value).__name__} cannot be part of a result")
        if isinstance(value, bytes | bytearray | memoryview) and not self.declared:
            raise TypeError("bytes need a media type: return Media(data, media_type)")
        simple = _simple(value)
        return self._structure(value, depth) if simple is _NOT_SIMPLE else simple

    def _structure(self, value: Any, depth: int) -> Any:
        if isinstance(value, Enum):
            return self.convert(value.value, depth + 1)
        if isinstance(value, BaseModel):
            # Checked first: the model's serializers can turn rows into values that are not recognised as rows.
            self._checker().check_rows_in(value)
            dumped: object = value.model_dump(mode="python")
            if not isinstance(dumped, Mapping):  # of a `RootModel`
                return self._mapping({"root": dumped}, depth, declared=1)["root"]
            return self._mapping(dumped, depth, declared=1)
        if is_dataclass(value):
            return self._mapping({one.name: getattr(value, one.name) for one in fields(value)}, depth, declared=1)
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if hasattr(value, "_asdict"):
            return self._mapping(value._asdict(), depth)
        if hasattr(value, "tolist"):  # arrays of numpy and the like
            return self.convert(value.tolist(), depth + 1)
        if hasattr(value, "_meta") and hasattr(value._meta, "concrete_fields"):
            return self._row(value, depth)
        if hasattr(value, "get_queryset") and hasattr(value, "model"):
            value = value.get_queryset()
        if is_raw(value):
            self._check_blocking()
            value = value.iterator()
        if isinstance(value, Iterator | Collection) or hasattr(value, "_iterable_class"):
            return self._items(value, depth)
        return self._other(value)

    def _mapping(self, value: Mapping[Any, Any], depth: int, *, declared: int = 0) -> dict[str, Any]:
        """Convert a mapping. `declared` is 1 if its items are declared fields."""
        converted: dict[str, Any] = {}
        self.declared += declared
        try:
            for key, item in value.items():
                if type(key) is str:
                    name = clean_text(key)
                else:
                    self._checker().check_rows_in(key)
                    name = _key(key)
                converted[name] = self.convert(item, depth + 1)
        finally:
            self.declared -= declared
        if len(converted) != len(value):
            raise ValueError("two keys are the same as text")
        return converted

    def _row(self, row: Any, depth: int) -> dict[str, Any]:
        """Return a row's columns and the annotations of its query, except deferred and secret ones."""
        unloaded = row.get_deferred_fields() if hasattr(row, "get_deferred_fields") else ()
        converted: dict[str, Any] = {}
        for column in row._meta.concrete_fields:
            if column.attname in unloaded or is_secret_column(column):
                continue
            value = getattr(row, column.attname)
            converted[column.attname] = self._column(value, depth)
        for name in annotations_of(row):
            converted[name] = self._column(row.__dict__[name], depth)
        return converted

    def _column(self, value: Any, depth: int) -> Any:
        """Return the value of a column; one of a type that is unknown here, such as a file, as text."""
        if isinstance(value, bytes | bytearray | memoryview):
            return f"[{len(bytes(value)):,} bytes]"
        try:
            return self.convert(value, depth + 1)
        except (TypeError, pydantic_core.PydanticSerializationError):
            return clean_text(str(value))

    def _items(self, value: Any, depth: int) -> list[Any]:
        if isinstance(value, AnySet):
            value = sorted(value, key=lambda item: (type(item).__name__, str(item)))
        if isinstance(value, list | tuple):
            return [self.convert(item, depth + 1) for item in value]
        self._check_blocking()
        self._checker()  # made in the context of this call: a generator's code can be within another one
        # One item more than is shown tells whether there are more, without counting them.
        source = value[: MAX_ITEMS + 1] if hasattr(value, "_iterable_class") else islice(value, MAX_ITEMS + 1)
        is_of_values = getattr(value, "_fields", None) is not None and hasattr(value, "_iterable_class")
        convert = self._values_of(value) if is_of_values else self.convert
        items = [convert(item, depth + 1) for item in source]
        if hasattr(value, "close"):
            value.close()
        return [*items[:MAX_ITEMS], truncation_notice()] if len(items) > MAX_ITEMS else items

    def _values_of(self, queryset: Any) -> Callable[[Any, int], Any]:
        """Return a conversion of the rows of `values()` and `values_list()`, whose values are columns."""
        query = queryset.query
        columns = {column.attname: column for column in queryset.model._meta.concrete_fields}
        names = [*query.extra_select, *query.values_select, *query.annotation_select]

        def is_secret(name: str) -> bool:
            return is_secret_column(columns[name]) if name in columns else bool(_SECRET_COLUMN.search(name))

        def convert(row: Any, depth: int) -> Any:
            named = row if isinstance(row, Mapping) else row._asdict() if hasattr(row, "_asdict") else None
            if named is not None:
                return {name: self._column(value, depth) for name, value in named.items() if not is_secret(name)}
            if not isinstance(row, tuple):  # `flat=True`
                return self._column(row, depth)
            if queryset._fields or len(names) != len(row):
                return [self._column(value, depth) for value in row]
            # Nobody has named what `values_list()` alone gives.
            pairs = zip(names, row, strict=True)
            return [self._column(value, depth) for name, value in pairs if not is_secret(name)]

        return convert

    def _other(self, value: Any) -> Any:
        """Convert types that pydantic knows: addresses, patterns, ..."""
        return pydantic_core.to_jsonable_python(value)


def annotations_of(row: Any) -> Iterator[str]:
    """Yield the names of the values that a query gave a row besides its columns.

    Other attributes than these have a name of the class, such as cached properties, or hold rows, as prefetched ones.
    """
    columns = {column.attname for column in row._meta.concrete_fields}
    for name, value in vars(row).items():
        is_other = name.startswith("_") or name in columns or hasattr(type(row), name) or _SECRET_COLUMN.search(name)
        has_rows = is_row(value) or (isinstance(value, list | tuple) and any(map(is_row, value)))
        if not is_other and not has_rows:
            yield name


def truncation_notice() -> str:
    """Return the text that follows the last item of a shortened list."""
    return f"[Cut here: only the first {MAX_ITEMS} are shown.]"


def is_secret_column(column: Any) -> bool:
    """Whether a database column is left out of results, because of its name or because it is encrypted."""
    return bool(_SECRET_COLUMN.search(column.attname)) or type(column).__name__.startswith("Encrypted")


_NOT_SIMPLE = object()


def _simple(value: Any) -> Any:
    """Convert a value that is a single string or number in JSON, else return `_NOT_SIMPLE`."""
    if isinstance(value, Enum):
        return _NOT_SIMPLE
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return pydantic_core.to_jsonable_python(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, Decimal | UUID | PurePath | BaseException) or type(value).__name__ in _SHOWN_AS_TEXT:
        return clean_text(str(value) or type(value).__name__)
    return _NOT_SIMPLE


# Django's lazy translations, and pydantic's secrets, whose text is asterisks.
_SHOWN_AS_TEXT = frozenset({"__proxy__", "SecretStr", "SecretBytes", "Secret"})


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    simple = _simple(key)
    return clean_text(str(key)) if simple is _NOT_SIMPLE or simple is None else str(simple)
