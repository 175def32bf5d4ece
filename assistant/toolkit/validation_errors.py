"""pydantic's validation errors as short sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def error_details(exc: ValidationError) -> list[ErrorDetails]:
    """Return the errors without the validated values, which can be long or secret."""
    return exc.errors(include_url=False, include_context=False, include_input=False)


def problems(exc: ValidationError, *, root: str) -> list[tuple[str, str]]:
    """Return each error as the dotted path of its field and the problem.

    Args:
        root: the path for errors of the value as a whole.
    """
    return [(path_of(error["loc"]) or root, error["msg"]) for error in error_details(exc)]


def path_of(place: Iterable[int | str]) -> str:
    """Return a place as a path, without pydantic's names of the types of a union, such as `list[str]`."""
    return ".".join(str(part) for part in place if "[" not in str(part))


def sentence(exc: ValidationError, *, root: str, limit: int | None = None) -> str:
    """Return the errors as one sentence: `name: Field required; age: Input should be a valid integer.`

    Args:
        root: as for `problems`.
        limit: the maximum number of errors to include; None for all.
    """
    return "; ".join(f"{path}: {problem}" for path, problem in problems(exc, root=root)[:limit]) + "."
