"""What can go wrong with a tool, by who must act."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class ToolsError(Exception):
    """Everything that this package raises on purpose."""


class InvalidTool(ToolsError):
    """A developer's mistake in a tool; raised when it is defined, at start-up."""


class ToolError(ToolsError):
    """Something the model should know: it reads the message, and may try again."""


class InvalidArguments(ToolError):
    """The model's arguments do not fit the tool's schema.

    `fields` maps the path of each wrong field to what is wrong with it.
    """

    def __init__(self, message: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.fields = dict(fields or {})


class UnknownTool(ToolError):
    """No tool has that name; `name` is the one that was asked for."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = ", ".join(known) or "none"
        super().__init__(f"There is no tool named {name!r}. Tools: {names}.")
        self.name = name


class ForeignRow(ToolsError):
    """A tool's result holds a database row of another tenant; it is stopped before the model reads it."""


class MissingSecret(ToolError, KeyError):
    """The tenant has not set a secret that the tool needs; the message names the secret, never a value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The secret {name!r} of this tool is not set. An administrator can set it.")
        self.name = name

    # KeyError would put the sentence between quotes.
    __str__ = Exception.__str__
