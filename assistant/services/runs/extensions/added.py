"""Extensions of optional apps, which act in the runs of those assistants that have them switched on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.utils.functional import Promise

if TYPE_CHECKING:
    from assistant.models import Assistant
    from assistant.services.run_key import RunKey
    from assistant.services.runs.extensions.run_extension import RunExtension
    from assistant.services.toolpolicy.policy import EffectiveTool

    # Takes the run, its assistant, and the tools that it may use.
    Maker = Callable[[RunKey, Assistant, Sequence[EffectiveTool]], Sequence[RunExtension[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class AddedExtension:
    """An extension that assistants can have, or tenants in all of their runs.

    Attributes:
        title: what the assistant's page says of it; empty for one of tenants.
        make: the dotted name of a `Maker`, which is imported with the first run that has the extension. It may query.
    """

    name: str
    title: str | Promise
    make: str


_added: dict[str, AddedExtension] = {}


def add_run_extension(name: str, *, title: str | Promise, make: str) -> None:
    """Let assistants have an extension, which is off until it is chosen on the assistant's page."""
    _added[name] = AddedExtension(name, title, make)


def add_tenant_extension(name: str, *, make: str) -> None:
    """Let an extension act in all runs of those tenants whose `extensions` name it, and of all with `DEBUG`."""
    _added[name] = AddedExtension(name, "", make)


def extension_choices() -> list[tuple[str, str | Promise]]:
    """Return the names of the extensions that assistants can have, with their titles."""
    return [(one.name, one.title) for one in _added.values() if one.title]


def added_extensions(
    *, key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]
) -> Iterator[RunExtension[Any]]:
    """Yield the extensions of an assistant and of its tenant; those of apps that are absent are passed over."""
    for one in _added.values():
        names = assistant.extensions if one.title else assistant.tenant.extensions
        if one.name in names or (settings.DEBUG and not one.title):
            module, _, name = one.make.rpartition(".")
            yield from cast("Maker", getattr(import_module(module), name))(key, assistant, tools)
