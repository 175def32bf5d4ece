"""A tool as one wire format takes it, with the way back to its own names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, RESPONSES
from assistant.providers.tool_adaptation.references import has_references, inlined
from assistant.providers.tool_adaptation.schemas import (
    is_plain,
    other_names,
    plain_root,
    renamed,
    value_renamed,
    with_items,
)
from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.arguments import INVALID, MAX_NAME, decoded_once

# Characters of a result within which it says that it is about invalid arguments.
MAX_BEGINNING = 100
ANY_NAME = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """What the providers of a wire format take of a tool; docs/provider-quirks.md says where that is known from.

    Attributes:
        label: the format's name for people.
        property_name: of a property, at any depth.
        tool_name: of a tool, whose names have at most 64 letters, digits, `_` and `-` in any case.
        description: characters of a tool's description; the rest stands in the schema. 0: any number.
        tools: of one request; 0: any number.
        references: whether a schema may have references.
    """

    label: str
    property_name: re.Pattern[str] = ANY_NAME
    tool_name: re.Pattern[str] = ANY_NAME
    description: int = 0
    tools: int = 0
    references: bool = True


# The servers of other providers with OpenAI's formats take longer descriptions and more tools, but need neither.
_OPENAI = ToolRules("OpenAI", description=1_024, tools=128)
RULES: Mapping[str, ToolRules] = {
    CHAT_COMPLETIONS: _OPENAI,
    RESPONSES: _OPENAI,
    ANTHROPIC: ToolRules("Anthropic", property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)),
    GOOGLE: ToolRules("Google", tool_name=re.compile(r"[a-zA-Z_].*", re.DOTALL), tools=128, references=False),
}


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

    def sent_arguments(self, text: str) -> str:
        """Return the arguments of an earlier call by the names that are sent."""
        return _renamed_text(text, self.original.parameters, self.names)

    def sent_error(self, text: str) -> str:
        """Return the result of an earlier call with sent names, if it says what is wrong with arguments."""
        if not self.names or INVALID.lower() not in text[:MAX_BEGINNING].lower():
            return text
        names = {own[:MAX_NAME]: sent for own, sent in self.names.items()}
        longest_first = sorted(names, key=len, reverse=True)
        pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
        return re.sub(pattern, lambda found: names[found[0]], text)

    def own_arguments(self, text: str) -> str:
        """Return the arguments of a model's call by the tool's own names; a text that is no object stays as it is."""
        return _renamed_text(text, self.tool.parameters, {sent: own for own, sent in self.names.items()})


def _renamed_text(text: str, schema: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if not names:
        return text
    try:
        value = load_json(decoded_once(text))
    except ValueError:
        return text
    if not isinstance(value, dict):
        return text
    return json.dumps(value_renamed(value, dict(schema), names), ensure_ascii=False)


@lru_cache(maxsize=4_000)
def adapted(tool: Tool, rules: ToolRules) -> AdaptedTool:
    """Return a tool as the providers of a wire format take it."""
    if tool.is_provider_side:
        return AdaptedTool(tool, tool)
    schema: Any = tool.parameters
    notes: list[str] = []
    words: list[str] = []
    if not is_plain(schema):
        schema, lost = plain_root(schema)
        if lost:
            words.append(lost)
            notes.append(f"Its alternatives (anyOf, oneOf, allOf, not) are told in words: {lost}")
    if not rules.references and has_references(schema):
        schema, is_cut = inlined(schema)
        if is_cut:
            notes.append("Values that contain themselves are described to their first level.")
    schema = with_items(schema)
    names = {} if rules.property_name is ANY_NAME else other_names(schema, rules.property_name)
    if names:
        schema = renamed(schema, names)
        said = ", ".join(f"{sent} for {json.dumps(own, ensure_ascii=False)}" for own, sent in names.items())
        words.append(f"Parameters have other names here: {said}.")
        notes.append(f"Parameters are sent under other names: {said}.")
    name = tool.name if rules.tool_name.fullmatch(tool.name) else f"_{tool.name}"[:64]
    if name != tool.name:
        notes.append(f"It is called {name}.")
    text = tool.description
    description = "\n\n".join(filter(None, (text, *words)))
    if rules.description and len(description) > rules.description:
        notes.append(f"Its description is longer than {rules.description:,} characters; the rest is in its schema.")
        schema = {**schema, "description": "\n\n".join(filter(None, (description, schema.get("description"))))}
        description = f"{description[: rules.description - 60].rstrip()}… (All of it is in the schema's description.)"
    if schema == tool.parameters and description == text and name == tool.name:
        return AdaptedTool(tool, tool)
    sent = tool.replace(
        name=name,
        description=description,
        parameters=schema,
        # Their arguments have the tool's own names.
        examples=() if names else tool.examples,
        destinations=(),
        destination_texts=(),
    )
    return AdaptedTool(sent, tool, names, tuple(notes))


def notes_of(tool: Tool) -> list[str]:
    """Return what the wire formats lose or change of a tool, as sentences that name the providers; [] if nothing."""
    found: dict[str, list[str]] = {}
    for rules in dict.fromkeys(RULES.values()):
        for note in adapted(tool, rules).notes:
            found.setdefault(note, []).append(rules.label)
    return [f"{', '.join(labels)}: {note}" for note, labels in found.items()]


def digest_of(tool: Tool) -> str:
    """Return a hash of what a provider gets of a tool."""
    return _digest(tool, str(tool.description))


@lru_cache(maxsize=4_000)
def _digest(tool: Tool, description: str) -> str:
    sent = json.dumps([tool.name, description, tool.parameters], sort_keys=True, default=str)
    return hashlib.sha256(sent.encode("utf-8", "replace")).hexdigest()[:32]
