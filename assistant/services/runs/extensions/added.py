"""Extensions of optional apps, which act in the runs of those assistants that have them switched on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from assistant.models.assistants import EXTENSIONS_OF_NEW_ASSISTANTS
from assistant.services.assistants.additions import ANNOTATIONS

if TYPE_CHECKING:
    from django.db.models.expressions import BaseExpression

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
            Extensions with the same one are made by one call.
        only_of_members: whether it acts only in conversations that members go on with, not in tests, and not for
            callers that keep the history themselves.
    """

    name: str
    title: str | Promise
    make: str
    only_of_members: bool = False


_added: dict[str, AddedExtension] = {}


def add_run_extension(
    name: str, *, title: str | Promise, make: str, only_of_members: bool = False, is_default: bool = False
) -> None:
    """Let assistants have an extension, which is chosen on the assistant's page.

    Args:
        is_default: whether new assistants have it; others are off until they are chosen.
    """
    _added[name] = AddedExtension(name, title, make, only_of_members)
    if is_default:
        EXTENSIONS_OF_NEW_ASSISTANTS.append(name)


def add_tenant_extension(name: str, *, make: str) -> None:
    """Let an extension act in all runs of those tenants whose `extensions` name it, and of all with `DEBUG`."""
    _added[name] = AddedExtension(name, "", make)


# Dotted names of functions of the run, its assistant and its setup, by the annotations of assistants that let them act.
FIRST_EXTENSIONS: dict[str, str] = {}


def add_first_extension(name: str, *, acts_if: BaseExpression, make: str) -> None:
    """Let an extension act, before those of the core and of other apps, in the runs of assistants of which this is so.

    Args:
        acts_if: an expression of an assistant's row, which is read with it.
        make: the dotted name of a function of the run, its assistant and its setup that returns extensions.
    """
    ANNOTATIONS[f"extended_by_{name}"] = acts_if
    FIRST_EXTENSIONS[f"extended_by_{name}"] = make


def extension_choices() -> list[tuple[str, str | Promise]]:
    """Return the names of the extensions that assistants can have, with their titles."""
    return [(one.name, one.title) for one in _added.values() if one.title]


def added_extensions(
    *, key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool], of_member: bool
) -> Iterator[RunExtension[Any]]:
    """Yield the extensions of an assistant and of its tenant; those of apps that are absent are passed over.

    Args:
        of_member: whether a member may go on with the conversation.
    """
    makers = dict[str, None]()
    for extension in _added.values():
        names = assistant.extensions if extension.title else assistant.tenant.extensions
        is_on = extension.name in names or (settings.DEBUG and not extension.title)
        if is_on and (of_member or not extension.only_of_members):
            makers[extension.make] = None
    for make in makers:
        yield from cast("Maker", import_string(make))(key, assistant, tools)
