"""Turns the deltas of one reply into AG-UI events, with a start and an end for each part."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assistant.core.conversation.drafts import REASONING_SUFFIX, part_id
from assistant.core.llm.protocol import Delta, ProviderCall, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.json_completion import JsonStream
from assistant.core.values.messages import Reply, ToolCall
from assistant.toolkit.calls.arguments import decoded_once


class EventWriter:
    """Turns a reply's deltas into events.

    Args:
        message_id: id of the assistant's message that the reply becomes.
        call_id: makes a call's id, unique within the thread, from the provider's (which may be empty).
    """

    def __init__(self, message_id: str, call_id: Callable[[str], str]) -> None:
        self.message_id = message_id
        self._call_id = call_id
        self._text_id = message_id
        self._reasoning_id = message_id + REASONING_SUFFIX
        self._texts = self._reasonings = 0  # parts that were begun
        self._is_text_open = False
        self._is_reasoning_open = False
        self._text_length = 0
        self._reasoning_length = 0
        self._calls: dict[int, str] = {}
        self._arguments: dict[int, JsonStream] = {}
        self._argument_lengths: dict[int, int] = {}
        self._provider_calls = 0

    @property
    def length(self) -> int:
        """Characters that the model has sent so far, reasoning and arguments of calls included."""
        lengths = self._argument_lengths.values()
        return self._text_length + self._reasoning_length + self._provider_calls + sum(lengths)

    @property
    def is_begun(self) -> bool:
        """Whether any part of the answer was shown."""
        return self.has_text or self.has_calls or bool(self._reasoning_length)

    @property
    def has_text(self) -> bool:
        """Whether any text was shown."""
        return bool(self._text_length)

    @property
    def has_calls(self) -> bool:
        """Whether any call was shown."""
        return bool(self._calls or self._provider_calls)

    def end_texts(self) -> Iterator[Event]:
        """Yield the ends of open text and reasoning, of an answer that another one follows."""
        yield from self._end_texts()

    def write(self, delta: Delta) -> Iterator[Event]:
        """Yield the events of one delta."""
        match delta:
            case TextDelta(text=text):
                yield from self._write_text(text)
            case ReasoningDelta(text=text):
                yield from self._write_reasoning(text)
            case ToolCallDelta():
                yield from self._write_call(delta.index, delta.id, delta.name, delta.arguments)

    def text_event(self, text: str) -> Event | None:
        """Return the event of further text if that needs exactly one, as it does for nearly every delta; else None."""
        if self._is_text_open and text and not self._is_reasoning_open:
            self._text_length += len(text)
            return events.TextMessageContent(self._text_id, text)
        return None

    def finish(self, reply: Reply) -> Iterator[Event]:
        """Yield the events of what `reply` has beyond the deltas, and the end of every open part."""
        yield from self._write_reasoning(reply.reasoning[self._reasoning_length :])
        yield from self._write_text(reply.text[self._text_length :])
        for index, call in enumerate(reply.tool_calls):
            sent = self._argument_lengths.get(index, 0)
            if index not in self._calls or sent < len(call.arguments):
                yield from self._write_call(index, call.id, call.name, call.arguments[sent:])
        yield from self._end_texts()
        for index, call_id in self._calls.items():
            if rest := self._arguments[index].finish():
                yield events.ToolCallArgs(call_id, rest)
            yield events.ToolCallEnd(call_id)

    def provider_call(self, made: ProviderCall) -> tuple[ToolCall, list[Event]]:
        """Return a call that the provider has run, with the id that its events have, and these."""
        call = ToolCall(self._call_id(made.id), made.name, made.arguments)
        self._provider_calls += len(made.arguments)
        start = events.ToolCallStart(call.id, call.name, self.message_id)
        arguments = events.ToolCallArgs(call.id, call.arguments)
        return call, [*self._end_texts(), start, arguments, events.ToolCallEnd(call.id)]

    def begin_message(self, message_id: str) -> None:
        """Write what follows as another message."""
        self.message_id = message_id
        self._texts = self._reasonings = 0

    def calls(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Return the reply's calls with the ids that their events have, and arguments that can be looked into."""
        return tuple(
            ToolCall(self._calls[index], call.name.strip(), decoded_once(call.arguments))
            for index, call in enumerate(reply.tool_calls)
        )

    def _write_text(self, text: str) -> Iterator[Event]:
        if not text:
            return
        yield from self._end_reasoning()
        if not self._is_text_open:
            self._is_text_open = True
            self._texts += 1
            self._text_id = part_id(self.message_id, self._texts)
            yield events.TextMessageStart(self._text_id, "assistant")
        self._text_length += len(text)
        yield events.TextMessageContent(self._text_id, text)

    def _write_reasoning(self, text: str) -> Iterator[Event]:
        if not text:
            return
        if not self._is_reasoning_open:
            self._is_reasoning_open = True
            self._reasonings += 1
            self._reasoning_id = part_id(self.message_id + REASONING_SUFFIX, self._reasonings)
            yield events.ReasoningStart(self._reasoning_id)
            yield events.ReasoningMessageStart(self._reasoning_id, "reasoning")
        self._reasoning_length += len(text)
        yield events.ReasoningMessageContent(self._reasoning_id, text)

    def _write_call(self, index: int, provider_id: str, name: str, arguments: str) -> Iterator[Event]:
        call_id = self._calls.get(index)
        if call_id is None:
            yield from self._end_texts()
            call_id = self._calls[index] = self._call_id(provider_id)
            self._arguments[index] = JsonStream()
            yield events.ToolCallStart(call_id, name.strip(), self.message_id)
        if arguments:
            self._argument_lengths[index] = self._argument_lengths.get(index, 0) + len(arguments)
            if text := self._arguments[index].add(arguments):
                yield events.ToolCallArgs(call_id, text)

    def _end_texts(self) -> Iterator[Event]:
        yield from self._end_reasoning()
        if self._is_text_open:
            self._is_text_open = False
            yield events.TextMessageEnd(self._text_id)

    def _end_reasoning(self) -> Iterator[Event]:
        if self._is_reasoning_open:
            self._is_reasoning_open = False
            yield events.ReasoningMessageEnd(self._reasoning_id)
            yield events.ReasoningEnd(self._reasoning_id)
