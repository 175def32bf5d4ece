"""The exceptions of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class ToolsError(Exception):
    """The base of this package's exceptions."""


class InvalidTool(ToolsError):
    """A developer's mistake in a tool; raised when it is defined, at start-up."""


class ToolError(ToolsError):
    """An error for the model, which reads the message and can try again.

    Args:
        may_have_run: the call may have taken effect all the same. Unless the tool is read-only, it has the status
            "unknown", and the model reads that it should check before it repeats the call.
    """

    may_have_run = False

    def __init__(self, *args: object, may_have_run: bool = False) -> None:
        super().__init__(*args)
        self.may_have_run = may_have_run


class InvalidArguments(ToolError):
    """The model's arguments do not match the tool's schema.

    `fields` maps the path of each invalid field to its problem.
    """

    def __init__(self, message: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.fields = dict(fields or {})


class UnknownTool(ToolError):
    """There is no tool with this name; `name` is the requested one."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = ", ".join(known) or "none"
        super().__init__(f"There is no tool named {name!r}. Tools: {names}.")
        self.name = name


class ForeignRow(ToolsError):
    """A tool's result contains a database row of another tenant; it is not passed to the model."""


class MissingSecret(ToolError, KeyError):
    """The tenant has not set a secret that the tool needs; the message names the secret, never a value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The secret {name!r} of this tool is not set. An administrator can set it.")
        self.name = name

    # KeyError would show the message in quotes.
    __str__ = Exception.__str__
