"""A tool as one wire format takes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from assistant.providers import FORMATS, model_class
from assistant.providers.tool_adaptation.schemas import is_plain, plain_root, with_items
from assistant.toolkit import Tool


@dataclass(slots=True)
class Draft:
    """What is sent of a tool, while it is made.

    Attributes:
        words: what its description says besides.
        names, notes: as of `AdaptedTool`.
    """

    name: str
    schema: Any
    words: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """What the providers of a wire format take of a tool; docs/provider-quirks.md says where that is known from.

    Attributes:
        label: the format's name for people.
        description: characters of a tool's description; the rest stands in the schema. 0: any number.
        tools: of one request; 0: any number.
    """

    label: str
    description: int = 0
    tools: int = 0

    def change(self, draft: Draft) -> None:
        """Change what is sent of a tool to what the providers take."""
        if not is_plain(draft.schema):
            draft.schema, lost = plain_root(draft.schema)
            if lost:
                draft.words.append(lost)
                draft.notes.append(f"Its alternatives (anyOf, oneOf, allOf, not) are told in words: {lost}")
        draft.schema = with_items(draft.schema)


# The servers of other providers with OpenAI's formats take longer descriptions and more tools, but need neither.
OPENAI_RULES = ToolRules("OpenAI", description=1_024, tools=128)


@dataclass(frozen=True, slots=True)
class AdaptedTool:
    """A tool as it is sent.

    Attributes:
        tool: with the name, description and schema to send; the same object as `original` if nothing had to change.
        names: what properties are called in what is sent, by their own names.
        notes: what was changed or is not said any more, as sentences for operators.
    """

    tool: Tool
    original: Tool
    names: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=4_000)
def adapted(tool: Tool, rules: ToolRules) -> AdaptedTool:
    """Return a tool as the providers of a wire format take it."""
    if tool.is_provider_side:
        return AdaptedTool(tool, tool)
    draft = Draft(tool.name, tool.parameters)
    rules.change(draft)
    schema = draft.schema
    text = tool.description
    description = "\n\n".join(filter(None, (text, *draft.words)))
    if rules.description and len(description) > rules.description:
        note = f"Its description is longer than {rules.description:,} characters; the rest is in its schema."
        draft.notes.append(note)
        schema = {**schema, "description": "\n\n".join(filter(None, (description, schema.get("description"))))}
        description = f"{description[: rules.description - 60].rstrip()}… (All of it is in the schema's description.)"
    if schema == tool.parameters and description == text and draft.name == tool.name:
        return AdaptedTool(tool, tool)
    sent = tool.replace(
        name=draft.name,
        description=description,
        parameters=schema,
        # Their arguments have the tool's own names.
        examples=() if draft.names else tool.examples,
        destinations=(),
        destination_texts=(),
    )
    return AdaptedTool(sent, tool, draft.names, tuple(draft.notes))


# Few, since tools that clients bring are other objects in each request, and are kept with it.
@lru_cache(maxsize=200)
def adapted_tools(tools: tuple[Tool, ...], rules: ToolRules) -> tuple[Tool, ...]:
    """Return the tools of a request as a provider takes them; of more than it takes the last are left out."""
    return tuple([adapted(tool, rules).tool for tool in tools[: rules.tools or None]])


def notes_of(tool: Tool) -> list[str]:
    """Return what the wire formats lose or change of a tool, as sentences that name the providers; [] if nothing."""
    found: dict[str, list[str]] = {}
    for rules in dict.fromkeys(rules_of(name) for name in FORMATS):
        for note in adapted(tool, rules).notes:
            found.setdefault(note, []).append(rules.label)
    return [f"{', '.join(labels)}: {note}" for note, labels in found.items()]


def rules_of(wire_format: str) -> ToolRules:
    """Return what the providers of a wire format take of a tool. Raises `KeyError` for an unknown one."""
    rules: ToolRules = model_class(wire_format).rules
    return rules


def digest_of(tool: Tool) -> str:
    """Return a hash of what a provider gets of a tool."""
    return _digest(tool, str(tool.description))


@lru_cache(maxsize=4_000)
def _digest(tool: Tool, description: str) -> str:
    sent = json.dumps([tool.name, description, tool.parameters], sort_keys=True, default=str)
    return hashlib.sha256(sent.encode("utf-8", "replace")).hexdigest()[:32]
