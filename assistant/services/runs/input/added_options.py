"""Options of `forwardedProps` that optional apps read, and what they make of them in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.models import Assistant
    from assistant.services.run_key import RunKey
    from assistant.services.runs.extensions.run_extension import RunExtension
    from assistant.services.toolpolicy.policy import EffectiveTool


@dataclass(frozen=True, slots=True)
class AddedOption:
    """An option, as `add_option` describes it."""

    parse: str
    make: str


added: dict[str, AddedOption] = {}


def add_option(name: str, *, parse: str, make: str) -> None:
    """Let callers of runs give an option of `forwardedProps`. Without it nothing of the app is entered.

    Args:
        parse: the dotted name of a function that takes what the caller gave, and returns a JSON value, which the run's
            row keeps. It raises `Refused`, and queries nothing.
        make: the dotted name of a function that takes the run's key, its assistant, the tools that it may use and the
            parsed value, and returns extensions of the run. It may raise `Refused`.
    """
    added[name] = AddedOption(parse, make)


def parse_added(forwarded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the added options that a caller gives. Raises `Refused`."""
    given = {name: option for name, option in added.items() if forwarded.get(name) is not None}
    return {name: _named(option.parse)(forwarded[name]) for name, option in given.items()}


def extensions_of_options(
    values: Mapping[str, Any], *, key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]
) -> list[RunExtension[Any]]:
    """Return the extensions of a run that its added options ask for; those of apps that are gone are passed over.

    Raises:
        Refused: an option is not for this caller.
    """
    found: list[RunExtension[Any]] = []
    for name, value in values.items():
        if name in added:
            found += _named(added[name].make)(key, assistant, tools, value)
    return found


def _named(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(import_module(module), function)
