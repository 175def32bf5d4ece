"""Texts of tools, which may be lazy translations: they are translated when they are read."""

from __future__ import annotations

from typing import Any, Protocol, overload

from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.text import is_lazy


class LazyText(Protocol):
    """What `gettext_lazy` returns."""

    def strip(self, chars: Any = ..., /) -> str: ...


class Text:
    """A dataclass field that holds a text or a lazy translation, and reads as `str`.

    Args:
        default: None if the field is required.
    """

    def __init__(self, default: str | None = None) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._place = name, f"_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> str: ...
    @overload
    def __get__(self, instance: object, owner: type) -> str: ...
    def __get__(self, instance: object | None, owner: type) -> str:
        if instance is not None:
            return str(instance.__dict__[self._place])
        if self._default is None:
            raise AttributeError(self._name)
        return self._default

    def __set__(self, instance: object, value: str | LazyText) -> None:
        if not isinstance(value, str) and not is_lazy(value):
            raise InvalidTool(f"A tool's {self._name} is a text, not {type(value).__name__}.")
        instance.__dict__[self._place] = value


def is_blank(tool: object, name: str) -> bool:
    """Whether a text of a tool is empty; a lazy one is not looked into."""
    value = tool.__dict__[f"_{name}"]
    return not is_lazy(value) and not value.strip()
