"""Mappings and lists that cannot be changed, at any depth, and still are what `json` and `isinstance` expect."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NoReturn

# Levels of values that are made read-only; deeper ones are left as they are.
MAX_DEPTH = 30


def _refuse(self: object, *args: object, **options: object) -> NoReturn:
    raise TypeError("The values of a tool's context cannot be changed.")


class FrozenDict(dict[Any, Any]):
    """A dict that cannot be changed; its copies can."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {copy.deepcopy(key, memo): copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed; its copies can."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def frozen(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value whose mappings, lists and sets cannot be changed; other objects are left as they are."""
    kind = type(value)
    if kind in (FrozenDict, FrozenList) or depth > MAX_DEPTH:
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(item, depth + 1) for key, item in value.items()})
    if kind is list:
        return FrozenList([frozen(item, depth + 1) for item in value])
    if kind is tuple:
        return tuple([frozen(item, depth + 1) for item in value])
    return frozenset(value) if kind is set else value
