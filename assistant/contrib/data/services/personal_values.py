"""Calls that would carry personal values of rows to a place outside: a person is asked first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from django.utils.translation import gettext as _

from assistant.contrib.data.services.columns import looks_personal_name
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.structure import exposed_views
from assistant.core.values.messages import Message
from assistant.core.values.untrusted import on_one_line, unfenced
from assistant.services.toolpolicy.added_rules import AskedCall
from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json

# Shorter values occur in other texts by chance.
MIN_CHARACTERS = 3


def reason_to_ask(asked: AskedCall) -> str:
    """Return why a person is asked about a call: it carries a personal value that a tool of this app has read."""
    if not goes_outside(asked.tool, is_remote=asked.is_remote):
        return ""
    values = dict(_read_values(asked.messages))
    if not values:
        return ""
    if asked.tool.is_provider_side:
        return _("This conversation has read personal data.")
    carried = " ".join(_texts(_object(asked.call.arguments) or asked.call.arguments)).casefold()
    for value, column in values.items():
        if value in carried:
            sentence = _("“%(value)s” is personal data (%(column)s), and would leave the deployment.")
            return sentence % {"value": on_one_line(value), "column": column}
    return ""


def goes_outside(tool: Tool, *, is_remote: bool = False) -> bool:
    """Whether a tool can carry what it is given to another place. One with effects that does not say so may."""
    is_unknown = tool.open_world is None and not tool.read_only
    return is_remote or bool(tool.open_world) or bool(tool.destinations) or is_unknown


def _personal_columns() -> Mapping[str, frozenset[str]]:
    """Return the names of personal columns by the tools whose results have them."""
    found: dict[str, frozenset[str]] = {}
    for plan in plans():
        if names := frozenset(column.name for column in plan.personal):
            found |= dict.fromkeys(plan.tools, names)
    return found


@cache
def _view_tools() -> frozenset[str]:
    """Return the names of the tools of viewsets, whose personal values are known by their names alone."""
    return frozenset(offer.tool for plan in exposed_views() for offer in plan.offers)


def _read_values(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield the personal values in the results of this app's tools, in lower case, with their columns."""
    tools = {call.id: call.name for message in messages for call in message.tool_calls}
    columns = _personal_columns()
    for message in messages:
        tool = tools.get(message.tool_call_id or "", "")
        names = columns.get(tool, frozenset())
        is_of_view = tool in _view_tools()
        if message.role != "tool" or not (names or is_of_view):
            continue
        for name, value in _pairs(_object(unfenced(message.content))):
            text = str(value).strip().casefold()
            is_personal = name in names or (is_of_view and looks_personal_name(name))
            if is_personal and value is not None and len(text) >= MIN_CHARACTERS:
                yield text, name


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, dict | list):
                yield from _pairs(item)
            else:
                yield name, item
    elif isinstance(value, list):
        for item in value:
            yield from _pairs(item)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)


def _object(text: str) -> Any:
    try:
        return load_json(text)
    except ValueError:
        return None
