"""A request whose tools a wire format takes, and the answer to it in the tools' own names."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from assistant.core.llm.protocol import Delta, ModelRequest, ToolCallDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers.tool_adaptation.adapted_tool import AdaptedTool, ToolRules, adapted


@dataclass(frozen=True, slots=True)
class AdaptedRequest:
    """A request as it is sent.

    Attributes:
        by_sent_name: the tools whose calls have to be translated back.
    """

    request: ModelRequest
    by_sent_name: Mapping[str, AdaptedTool]

    def restored(self, stream: AsyncGenerator[Delta | Reply]) -> AsyncGenerator[Delta | Reply]:
        """Return the answer with calls in the tools' own names; arguments that must be translated come as a whole."""
        return _restored(stream, self.by_sent_name) if self.by_sent_name else stream


def adapted_request(request: ModelRequest, rules: ToolRules) -> AdaptedRequest:
    """Return a request with tools that the providers of a wire format take, and with earlier calls as these have them.

    Of more tools than a provider takes the last are left out.
    """
    if not request.tools:
        return AdaptedRequest(request, {})
    tools = [adapted(tool, rules) for tool in request.tools[: rules.tools or None]]
    translated = [one for one in tools if one.names or one.tool.name != one.original.name]
    if len(tools) == len(request.tools) and all(one.tool is one.original for one in tools):
        return AdaptedRequest(request, {})
    own = {one.original.name: one for one in translated}
    calls = {call.id: own[call.name] for one in request.messages for call in one.tool_calls if call.name in own}
    messages = [_sent(message, own, calls) for message in request.messages] if own else request.messages
    choice = request.tool_choice
    if choice in own:
        choice = own[choice].tool.name
    sent = replace(request, tools=[one.tool for one in tools], messages=messages, tool_choice=choice)
    return AdaptedRequest(sent, {one.tool.name: one for one in translated})


def _sent(message: Message, own: Mapping[str, AdaptedTool], calls_by_id: Mapping[str, AdaptedTool]) -> Message:
    """Return a message whose calls, and what is said of their arguments, have the names that are sent."""
    if message.role == "tool" and (called := calls_by_id.get(message.tool_call_id)) is not None:
        told = called.sent_error(message.content)
        return message if told == message.content else replace(message, content=told)
    if not any(call.name in own for call in message.tool_calls):
        return message
    calls = tuple(
        replace(call, name=own[call.name].tool.name, arguments=own[call.name].sent_arguments(call.arguments))
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
    return replace(call, name=tool.original.name, arguments=tool.own_arguments(call.arguments))
