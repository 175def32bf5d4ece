"""For the tests of a Django project with an assistant (docs/testing.md). No part of the product imports it.

The names are imported when one is first asked for: `assistant.testing.tool_tester` needs no Django.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.testing.public import *  # noqa: F403 - its `__all__` says which


def __getattr__(name: str) -> Any:
    # `from assistant.testing import chat` asks for an attribute before it imports the module.
    if find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module {__name__!r} has not imported {name!r} yet")
    public = import_module("assistant.testing.public")
    try:
        return getattr(public, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
