"""What somebody reads who gives an option that does not exist: its name, and those that there are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

Made = TypeVar("Made", bound=Callable[..., Any])


def unknown_options(beginning: str, given: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence that names those given that are not known, and all that are; "" if all given are known.

    Args:
        beginning: of the sentence, such as "ChatClient has no options".
    """
    choices = tuple(known)
    unknown = sorted(set(given).difference(choices))
    return f"{beginning} named {', '.join(unknown)}. There are: {', '.join(choices)}." if unknown else ""


def option_names(function: Callable[..., Any]) -> list[str]:
    """Return the names by which a function or class takes arguments, in their order."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind in by_name]


def lists_options(made: Made) -> Made:
    """Have a class or a sync function name, in its `TypeError` about an unknown option, the options that there are.

    Types and `help()` stay as they are. It stands above `@dataclass`, and not on what each run makes: it costs a call.
    """
    if isinstance(made, type):
        filling = _listing(vars(made)["__init__"], lambda arguments: type(arguments[0]).__name__, made)
        type.__setattr__(made, "__init__", filling)
        return made
    return cast("Made", _listing(made, lambda arguments: f"{made.__name__}()", made))


def _listing(function: Any, name_of: Callable[[tuple[Any, ...]], str], owner: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def listing(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError:
            if mistake := unknown_options(f"{name_of(args)} has no options", options, option_names(owner)):
                raise TypeError(mistake) from None
            raise

    return listing
