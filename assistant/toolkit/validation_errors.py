"""pydantic's validation errors as short sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def error_details(exc: ValidationError) -> list[ErrorDetails]:
    """The single errors, without the values that were validated: those can be long, or secret."""
    return exc.errors(include_url=False, include_context=False, include_input=False)


def problems(exc: ValidationError, *, root: str) -> list[tuple[str, str]]:
    """Each error as the dotted path of its field and what is wrong there.

    Args:
        root: the path of an error that concerns the value as a whole.
    """
    return [(".".join(map(str, error["loc"])) or root, error["msg"]) for error in error_details(exc)]


def sentence(exc: ValidationError, *, root: str, limit: int | None = None) -> str:
    """The errors as one sentence: `name: Field required; age: Input should be a valid integer.`

    Args:
        root: as for `problems`.
        limit: how many errors are named at most; None for all.
    """
    return "; ".join(f"{path}: {problem}" for path, problem in problems(exc, root=root)[:limit]) + "."
