"""Makes keys of caches from values: two keys are equal only if whoever reads the values finds the same in them."""

from __future__ import annotations

import datetime as dt
from abc import ABC
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from decimal import Context, Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Generic, Protocol
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr

from assistant.toolkit.context import FrozenDict, FrozenList

# Values within one value, and levels of them. What is beyond counts as an object of its own.
MAX_VALUES = 2_000
MAX_DEPTH = 20

_PLAIN = frozenset({type(None), bool, int, str, bytes})
# Their `repr` shows all that is in them; equal ones can differ: 1.0 and 1.00, or one moment in two time zones.
_SHOWN = frozenset(
    {
        float,
        complex,
        Context,
        Decimal,
        dt.date,
        dt.datetime,
        dt.time,
        dt.timedelta,
        dt.timezone,
        UUID,
        IPv4Address,
        IPv4Network,
        IPv6Address,
        IPv6Network,
    }
)
_MAPPINGS = frozenset({dict, FrozenDict, MappingProxyType})
_SEQUENCES = frozenset({list, FrozenList, tuple})
_SETS = frozenset({set, frozenset})
_WITHOUT_STATE = frozenset({object, Generic, Protocol, ABC})


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """Equal only to one of the same object, which it keeps alive so that no other gets its id."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True, slots=True)
class ValueKey:
    """The key of a value.

    Attributes:
        is_exact: whether it has all that the value holds. Otherwise some object is in it only as itself: what can be
            read from such an object may change.
    """

    key: Hashable
    is_exact: bool


def key_of(value: Any) -> ValueKey:
    """Return the key of a value: plain values, containers, dataclasses and pydantic models of them are read through."""
    reader = _Reader()
    key = reader.key(value, 0)
    return ValueKey(key, reader.is_exact)


class _Reader:
    def __init__(self) -> None:
        self.is_exact = True
        self._left = MAX_VALUES

    def key(self, value: Any, depth: int) -> Hashable:
        kind = type(value)
        if kind in _PLAIN:
            return kind, value
        if kind in _SHOWN or isinstance(value, PurePath):
            return kind, repr(value)
        if isinstance(value, Enum):
            return kind, value.name
        if isinstance(value, SecretStr | SecretBytes):
            return kind, value.get_secret_value()
        self._left -= 1
        if depth < MAX_DEPTH and self._left > 0:
            if kind in _MAPPINGS:
                return kind, self._pairs(value.items(), depth)
            if kind in _SEQUENCES or (isinstance(value, tuple) and hasattr(kind, "_fields")):
                return kind, self._keys(value, depth)
            if kind in _SETS:
                return kind, frozenset(self._keys(value, depth))
            if _is_record(kind):
                return kind, self._pairs(_attributes(value), depth)
        self.is_exact = False
        return _Same(value)

    def _keys(self, values: Iterable[Any], depth: int) -> tuple[Hashable, ...]:
        found: list[Hashable] = []
        for value in values:
            self._left -= 1
            if self._left < 0:
                self.is_exact = False
                return (*found, _Same(values))
            found.append(self.key(value, depth + 1))
        return tuple(found)

    def _pairs(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> tuple[Hashable, ...]:
        return self._keys([part for pair in pairs for part in pair], depth)


def _is_record(kind: type) -> bool:
    """Whether all that an object of this type holds is in its attributes: dataclasses and pydantic models."""
    if issubclass(kind, BaseModel):
        return True
    return is_dataclass(kind) and all(
        base in _WITHOUT_STATE or "__dataclass_fields__" in vars(base) for base in kind.__mro__
    )


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    names = [*getattr(value, "__dict__", ()), *(name for base in type(value).__mro__ for name in _slots_of(base))]
    for name in dict.fromkeys(names):
        if name not in {"__dict__", "__weakref__", "__pydantic_fields_set__"} and hasattr(value, name):
            yield name, getattr(value, name)


def _slots_of(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots
