"""The exceptions of tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


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


def told_by(exc: BaseException) -> BaseException:
    """Return the exception that counts, of a group that `asyncio.TaskGroup` and the like raise; others as they are.

    A group counts as a `ToolError` if all that is in it, at any depth, are such errors: as the only one, or as one with
    the sentences of all. Any other group is returned as it is, and is a failure like any other exception.
    """
    if not isinstance(exc, BaseExceptionGroup):
        return exc
    errors = list(errors_in(exc))
    if not all(isinstance(error, ToolError) for error in errors):
        return exc
    if len(errors) == 1:
        return errors[0]
    sentences = dict.fromkeys(str(error) for error in errors)
    may_have_run = any(error.may_have_run for error in errors if isinstance(error, ToolError))
    return ToolError("\n".join(filter(None, sentences)), may_have_run=may_have_run)


def errors_in(exc: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions in a group, at any depth, in their order; of another exception itself."""
    pending = [exc]
    while pending:
        error = pending.pop()
        if isinstance(error, BaseExceptionGroup):
            pending += reversed(error.exceptions)
        else:
            yield error


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
