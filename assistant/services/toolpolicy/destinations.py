"""The decision on one call of a tool with destinations, in a run that has read untrusted text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import ReadText, named, on_one_line
from assistant.services.toolpolicy.addresses import addresses_in
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit import Tool, ToolContext
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.gate import HandedIn, ask_all

# Destinations of one call that are looked up in the conversation, characters of each, and characters of free text in
# which more are looked for. Calls with more follow the rule for all tools.
MAX_DESTINATIONS, MAX_CHARACTERS, MAX_TEXT = 50, 2_000, 50_000


async def by_destination(
    entry: EffectiveTool | None, call: ToolCall, read: ReadText, context: ToolContext, choices: Collection[str] = ()
) -> EffectiveTool | None:
    """Return the entry with the decision for this call, if its tool declares destinations: these alone decide.

    Asks the tool which destinations it knows. `choices` are the names of tools
    whose results list what there is to choose from.
    """
    if entry is None or entry.without_read is None:
        return entry
    values = destinations_of(entry.tool, call.arguments)
    if not values and not entry.tool.read_only:
        return entry  # it has no destination, but may change something, such as the amount of a payment
    if entry.tool.open_world and entry.policy == "off":
        return entry  # other arguments, such as a search query, leave the deployment too
    within = None if values is None else addresses_in_texts(entry.tool, call.arguments)
    if values is None or within is None or len(values) + len(within) > MAX_DESTINATIONS:
        return entry
    looked_up = dict.fromkeys([*values, *within])
    if any(len(value) > MAX_CHARACTERS for value in looked_up):
        return entry
    if (unknown := await _first_unknown(entry, read.untrusted_values(looked_up, choices), context)) is not None:
        value, origins = unknown
        warning = _("“%(value)s” comes from %(sources)s, and from nobody else.")
        warning %= {"value": on_one_line(value), "sources": named(origins)}
        return replace(entry, rule=f"{warning} {entry.rule}", warning=warning)
    cleared = entry.without_read
    why = "Its destinations are in trusted text." if values else "It names no destination."
    if values and entry.tool.known_destination:
        why = "Its destinations are in trusted text, or known to the tool."
    return replace(
        entry,
        policy=cleared.policy,
        rule=f"{cleared.rule} {why} This conversation has read {named(read.sources)}.",
        config=cleared.config,
        secrets=cleared.secrets,
        warning="",
    )


Untrusted = tuple[str, tuple[str, ...]]


async def _first_unknown(
    entry: EffectiveTool, untrusted: Iterable[Untrusted], context: ToolContext
) -> Untrusted | None:
    """Return the first untrusted destination that the tool does not know, or fails to say that it knows."""
    tool = entry.tool
    if tool.known_destination is None:
        return next(iter(untrusted), None)
    values = list(untrusted)
    own = replace(context, config=entry.config, secrets=entry.secrets)
    option = "known_destination"
    (answers,) = await ask_all(
        [[HandedIn(tool.known_destination, (value, own), option, tool.name, bool) for value, _ in values]]
    )
    for found, answer in zip(values, answers, strict=False):
        answer.report(f"Tool {tool.name} could not say whether it knows a destination", context)
        if not answer.is_yes:
            return found
    return None


def destinations_of(tool: Tool, arguments: str) -> list[str] | None:
    """Return the different texts and numbers in the arguments that the tool declares as destinations.

    Returns:
        None if they cannot be judged: the arguments are no JSON object, or a destination has another type.
    """
    values = _object(arguments)
    if values is None:
        return None
    found: dict[str, None] = {}
    for name in tool.destinations:
        leaves = [leaf for leaf in _leaves(values.get(name)) if leaf]
        if not leaves and values.get(name) not in (None, "", [], {}):
            return None
        found.update(dict.fromkeys(leaves))
    return list(found)


def addresses_in_texts(tool: Tool, arguments: str) -> list[str] | None:
    """Return the addresses in the arguments with free text; None if that is too long to look through."""
    values = _object(arguments) or {}
    texts = [leaf for name in tool.destination_texts for leaf in _leaves(values.get(name))]
    if sum(map(len, texts)) > MAX_TEXT:
        return None
    return _different(address for text in texts for address in addresses_in(text))


def _different(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _object(arguments: str) -> dict[str, Any] | None:
    try:
        values = load_json(arguments or "{}")
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _leaves(value: Any) -> Iterator[str]:
    """Texts and numbers in a value, names of objects too."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name.strip()
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value).strip()
