"""What providers with a wire format of their own take of tools: which names, and whether references."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from assistant.core.llm.protocol import Delta, ModelRequest, ToolCallDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers.native.property_names import other_names, renamed, value_renamed
from assistant.providers.native.references import has_references, inlined
from assistant.providers.tool_adaptation.adapted_tool import AdaptedTool, Draft, ToolRules, adapted
from assistant.providers.tool_adaptation.schemas import with_items
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.arguments import INVALID, MAX_NAME, decoded_once

# Characters of a result within which it says that it is about invalid arguments.
MAX_BEGINNING = 100
ANY_NAME = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NativeToolRules(ToolRules):
    """What the providers of such a wire format take of a tool.

    Attributes:
        property_name: of a property, at any depth.
        tool_name: of a tool, whose names have at most 64 letters, digits, `_` and `-` in any case.
        references: whether a schema may have references.
    """

    property_name: re.Pattern[str] = ANY_NAME
    tool_name: re.Pattern[str] = ANY_NAME
    references: bool = True

    def change(self, draft: Draft) -> None:
        super(NativeToolRules, self).change(draft)
        if not self.references and has_references(draft.schema):
            schema, is_cut = inlined(draft.schema)
            draft.schema = with_items(schema)
            if is_cut:
                draft.notes.append("Values that contain themselves are described to their first level.")
        draft.names = {} if self.property_name is ANY_NAME else other_names(draft.schema, self.property_name)
        if draft.names:
            draft.schema = renamed(draft.schema, draft.names)
            said = ", ".join(f"{sent} for {json.dumps(own, ensure_ascii=False)}" for own, sent in draft.names.items())
            draft.words.append(f"Parameters have other names here: {said}.")
            draft.notes.append(f"Parameters are sent under other names: {said}.")
        if not self.tool_name.fullmatch(draft.name):
            draft.name = f"_{draft.name}"[:64]
            draft.notes.append(f"It is called {draft.name}.")


@dataclass(frozen=True, slots=True)
class TranslatedRequest:
    """A request as it is sent.

    Attributes:
        by_sent_name: the tools whose calls have to be translated back.
    """

    request: ModelRequest
    by_sent_name: Mapping[str, AdaptedTool]

    def restored(self, stream: AsyncGenerator[Delta | Reply]) -> AsyncGenerator[Delta | Reply]:
        """Return the answer with calls in the tools' own names; arguments that must be translated come as a whole."""
        return _restored(stream, self.by_sent_name) if self.by_sent_name else stream


def translated_request(request: ModelRequest, rules: ToolRules) -> TranslatedRequest:
    """Return a request with tools that a provider takes, and with earlier calls as these have them."""
    tools = [adapted(tool, rules) for tool in request.tools[: rules.tools or None]]
    own = {one.original.name: one for one in tools if one.names or one.tool.name != one.original.name}
    if [one.tool for one in tools] != list(request.tools):
        request = replace(request, tools=[one.tool for one in tools])
    if not own:
        return TranslatedRequest(request, {})
    calls = {call.id: own[call.name] for one in request.messages for call in one.tool_calls if call.name in own}
    messages = [_sent(message, own, calls) for message in request.messages]
    choice = own[request.tool_choice].tool.name if request.tool_choice in own else request.tool_choice
    request = replace(request, messages=messages, tool_choice=choice)
    return TranslatedRequest(request, {one.tool.name: one for one in own.values()})


def sent_arguments(text: str, tool: AdaptedTool) -> str:
    """Return the arguments of an earlier call by the names that are sent."""
    return _renamed_text(text, tool.original.parameters, tool.names)


def own_arguments(text: str, tool: AdaptedTool) -> str:
    """Return the arguments of a model's call by the tool's own names; a text that is no object stays as it is."""
    return _renamed_text(text, tool.tool.parameters, {sent: own for own, sent in tool.names.items()})


def _sent_error(text: str, tool: AdaptedTool) -> str:
    """Return the result of an earlier call with sent names, if it says what is wrong with arguments."""
    if not tool.names or INVALID.lower() not in text[:MAX_BEGINNING].lower():
        return text
    names = {own[:MAX_NAME]: sent for own, sent in tool.names.items()}
    longest_first = sorted(names, key=len, reverse=True)
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    return re.sub(pattern, lambda found: names[found[0]], text)


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


def _sent(message: Message, own: Mapping[str, AdaptedTool], calls_by_id: Mapping[str, AdaptedTool]) -> Message:
    """Return a message whose calls, and what is said of their arguments, have the names that are sent."""
    if message.role == "tool" and (called := calls_by_id.get(message.tool_call_id)) is not None:
        told = _sent_error(message.content, called)
        return message if told == message.content else replace(message, content=told)
    if not any(call.name in own for call in message.tool_calls):
        return message
    calls = tuple(
        replace(call, name=own[call.name].tool.name, arguments=sent_arguments(call.arguments, own[call.name]))
        if call.name in own
        else call
        for call in message.tool_calls
    )
    return replace(message, tool_calls=calls)


async def _restored(
    stream: AsyncIterator[Delta | Reply], tools: Mapping[str, AdaptedTool]
) -> AsyncGenerator[Delta | Reply]:
    held: set[int] = set()
    async with aclosing(cast(Any, stream)) as items:
        async for item in items:
            if isinstance(item, ToolCallDelta):
                tool = tools.get(item.name)
                if tool is not None:
                    held.add(item.index)
                    yield replace(item, name=tool.original.name, arguments="")
                elif item.index not in held:
                    yield item
            elif isinstance(item, Reply):
                calls = tuple(_own(call, tools) for call in item.tool_calls)
                for index in sorted(held):
                    if index < len(calls):
                        yield ToolCallDelta(index, arguments=calls[index].arguments)
                yield replace(item, tool_calls=calls) if held else item
            else:
                yield item


def _own(call: ToolCall, tools: Mapping[str, AdaptedTool]) -> ToolCall:
    tool = tools.get(call.name)
    if tool is None:
        return call
    return replace(call, name=tool.original.name, arguments=own_arguments(call.arguments, tool))
