"""What somebody reads who gives an option that does not exist: its name, and those that there are."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar, cast

# How alike a name and one that it is a misspelling of are, from 0 to 1.
_ALIKE = 0.85

Made = TypeVar("Made", bound=Callable[..., Any])


def unknown_options(beginning: str, given: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence that names those given that are not known, and all that are; "" if all given are known.

    Args:
        beginning: of the sentence, such as "A call has no settings".
    """
    choices = tuple(known)
    unknown = sorted(set(given).difference(choices))
    return f"{beginning} named {', '.join(unknown)}. There are: {', '.join(choices)}." if unknown else ""


def meant_by(given: str, known: Iterable[str], *, alike: float = _ALIKE) -> str:
    """Return the known name that a name is a misspelling of; "" if it is known itself, or like none.

    Args:
        alike: how alike the two must be, from 0 to 1.
    """
    by_folded = {name.casefold(): name for name in known}
    if given in by_folded.values():
        return ""
    found = difflib.get_close_matches(given.casefold(), by_folded, n=1, cutoff=alike)
    return by_folded[found[0]] if found else ""


def option_names(function: Callable[..., Any]) -> list[str]:
    """Return the names by which a function or class takes arguments, in their order."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind in by_name]


def lists_options(made: Made) -> Made:
    """Have Python's `TypeError` about the arguments of a class, its public methods or a function list the options.

    Types and `help()` stay as they are. It stands above `@dataclass`, and on subclasses that are called by their own
    names. For a class it costs nothing: Python begins the sentence with the method's qualified name. So it is with
    async functions; others, which are pickled by that name, are wrapped, for a call more.
    """
    if isinstance(made, type):
        if "__init__" not in vars(made):
            _take_over(made)
        for name, member in vars(made).items():
            method = getattr(member, "__func__", member)
            if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
                called = made.__name__ if name == "__init__" else f"{made.__name__}.{name}"
                _name_options(method, called, has_owner=not isinstance(member, staticmethod))
        return made
    if inspect.iscoroutinefunction(made):
        _name_options(made, made.__name__)
        return made
    return cast("Made", _listing(made))


def list_options_of(module: str) -> None:
    """Do what `lists_options` does for all classes and sync functions that a module names in `__all__`.

    Modules that take a function from where it is defined do not pay for the call.
    """
    public = vars(sys.modules[module])
    for name in public["__all__"]:
        one = public[name]
        if isinstance(one, type):
            lists_options(one)
        elif inspect.isfunction(one) and not inspect.iscoroutinefunction(one) and not _lists_nothing(one):
            public[name] = _listing(one)
            # Where it is looked for when it is pickled.
            public[name].__module__ = module


def _take_over(made: type) -> None:
    """Give a class its own copy of the constructor that it inherits, whose errors are to have another name."""
    inherited: Any = made.__init__  # type: ignore[misc]  # of the class that is decorated
    if not inspect.isfunction(inherited):
        return
    own = FunctionType(
        inherited.__code__, inherited.__globals__, "__init__", inherited.__defaults__, inherited.__closure__
    )
    own.__kwdefaults__ = inherited.__kwdefaults__
    own.__annotations__ = inherited.__annotations__
    own.__doc__ = inherited.__doc__
    own.__module__ = made.__module__
    made.__init__ = own  # type: ignore[misc]


def _name_options(function: Any, name: str, *, has_owner: bool = False) -> None:
    code = function.__code__  # read in a moment, unlike signatures: this runs at each start
    names = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    if options := names[1 if has_owner else 0 :]:
        function.__qualname__ = f"{name} takes {', '.join(options)}. {name}"


def _lists_nothing(function: Callable[..., Any]) -> bool:
    """Whether a function has no arguments, or takes any name and says itself which are wrong."""
    kinds = {one.kind for one in inspect.signature(function).parameters.values()}
    return not kinds or inspect.Parameter.VAR_KEYWORD in kinds


def _listing(function: Any) -> Any:
    known = option_names(function)

    @functools.wraps(function)
    def listing(*args: Any, **options: Any) -> Any:
        # Before the call: a decorator of the function may begin a transaction.
        if mistake := unknown_options(f"{function.__name__}() has no options", options, known):
            raise TypeError(mistake)
        return function(*args, **options)

    return listing
