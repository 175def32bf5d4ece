"""Finds awaitables among validated values: a validator has returned them, and pydantic awaits none."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from assistant.toolkit.calls.gate import NoAnswer, discard

# More values than any arguments have; only validators make so many.
MAX_VALUES = 200_000


class AwaitableLeft(NoAnswer):
    """A value could not be validated, because a function of its type gave an awaitable.

    Attributes:
        path: of the value, with dots; empty for the whole.
    """

    def __init__(self, path: str) -> None:
        super().__init__(f"the validator of {path!r} gave an awaitable, and pydantic awaits none")
        self.path = path


def refuse_awaitables(value: Any) -> None:
    """Raise `AwaitableLeft` if there is an awaitable in a value, at any depth, and `NoAnswer` if it is too large.

    The awaitables are given up, without a warning that they were never awaited.
    """
    _refuse(_awaitables([("", value)]))


def refuse_awaitable_inputs(exc: ValidationError) -> None:
    """Raise `AwaitableLeft` if what is not valid is an awaitable."""
    errors = exc.errors(include_url=False, include_context=False)
    _refuse(_awaitables((".".join(map(str, error["loc"])), error["input"]) for error in errors))


def _refuse(found: Iterator[tuple[str, Any]]) -> None:
    first = next(found, None)
    if first is None:
        return
    discard(first[1])
    for _, awaitable in found:
        discard(awaitable)
    raise AwaitableLeft(first[0])


def _awaitables(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    pending = list(named)
    seen: set[int] = set()
    count = 0
    while pending:
        path, value = pending.pop()
        count += 1
        if count > MAX_VALUES:
            raise NoAnswer(f"validators gave more than {MAX_VALUES} values, which cannot be searched for awaitables")
        if isinstance(value, str | bytes | int | float | None):
            continue
        if inspect.isawaitable(value):
            yield path, value
        elif (parts := _parts(value)) and id(value) not in seen:
            seen.add(id(value))
            pending += [(f"{path}.{name}" if path else str(name), item) for name, item in parts]


def _parts(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return list(enumerate(value))
    if isinstance(value, BaseModel):
        return [*vars(value).items(), *(value.__pydantic_extra__ or {}).items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [(one.name, getattr(value, one.name, None)) for one in fields(value)]
    return []
