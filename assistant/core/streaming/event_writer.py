"""Turns the deltas of one reply into AG-UI events, with a start and an end for each part, and streams them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.answer_reader import AnswerReader
from assistant.core.llm.protocol import (
    Delta,
    DirectModel,
    Model,
    ModelRequest,
    ProviderCall,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.json_completion import JsonStream
from assistant.core.values.messages import REASONING_SUFFIX, Reply, ToolCall, part_id
from assistant.toolkit import Tool
from assistant.toolkit.calls.arguments import decoded_once


@dataclass(slots=True, eq=False)
class EventWriter:
    """Turns a reply's deltas into events.

    Attributes:
        message_id: id of the assistant's message that the reply becomes.
        call_id: makes a call's id, unique within the thread, from the provider's (which may be empty).
        tools: those that the model was offered; calls begin with their titles.
    """

    message_id: str
    call_id: Callable[[str], str]
    tools: Sequence[Tool] = ()
    _text_id: str = ""
    _reasoning_id: str = ""
    _texts: int = 0  # parts that were begun
    _reasonings: int = 0
    _is_text_open: bool = False
    _is_reasoning_open: bool = False
    _text_length: int = 0
    _reasoning_length: int = 0
    _calls: dict[int, str] = field(default_factory=dict)
    _arguments: dict[int, JsonStream] = field(default_factory=dict)
    _argument_lengths: dict[int, int] = field(default_factory=dict)
    _provider_calls: int = 0

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
        if reasoning := reply.reasoning[self._reasoning_length :]:
            yield from self._write_reasoning(reasoning)
        yield from self._write_text(reply.text[self._text_length :])
        for index, call in enumerate(reply.tool_calls):
            sent = self._argument_lengths.get(index, 0)
            if index not in self._calls or sent < len(call.arguments):
                yield from self._write_call(index, call.id, call.name, call.arguments[sent:])
        yield from self.end_texts()
        for index, call_id in self._calls.items():
            if rest := self._arguments[index].finish():
                yield events.ToolCallArgs(call_id, rest)
            yield events.ToolCallEnd(call_id)

    def provider_call(self, made: ProviderCall) -> tuple[ToolCall, list[Event]]:
        """Return a call that the provider has run, with the id that its events have, and these."""
        call = ToolCall(self.call_id(made.id), made.name, made.arguments)
        self._provider_calls += len(made.arguments)
        start = self._call_start(call.id, call.name)
        arguments = events.ToolCallArgs(call.id, call.arguments)
        return call, [*self.end_texts(), start, arguments, events.ToolCallEnd(call.id)]

    def begin_message(self, message_id: str) -> None:
        """Write what follows as another message."""
        self.message_id = message_id
        self._texts = self._reasonings = 0

    def calls(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Return the reply's calls with the ids that their events have, and arguments that can be looked into."""
        return tuple(
            ToolCall(
                self._calls[index],
                call.name.strip(),
                call.arguments if call.arguments.startswith("{") else decoded_once(call.arguments),
            )
            for index, call in enumerate(reply.tool_calls)
        )

    def _write_text(self, text: str) -> Iterator[Event]:
        if not text:
            return
        if self._is_reasoning_open:
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
            yield from self.end_texts()
            call_id = self._calls[index] = self.call_id(provider_id)
            self._arguments[index] = JsonStream()
            yield self._call_start(call_id, name.strip())
        if arguments:
            self._argument_lengths[index] = self._argument_lengths.get(index, 0) + len(arguments)
            if text := self._arguments[index].add(arguments):
                yield events.ToolCallArgs(call_id, text)

    def _call_start(self, call_id: str, name: str) -> Event:
        title = next((tool.title.strip() for tool in self.tools if tool.name == name), "")
        about = events.CallMetadata(events.CalledTool(title)) if title else None
        return events.ToolCallStart(call_id, name, self.message_id, metadata=about)

    def end_texts(self) -> Iterator[Event]:
        """Yield the ends of open text and reasoning."""
        if self._is_reasoning_open:
            yield from self._end_reasoning()
        if self._is_text_open:
            self._is_text_open = False
            yield events.TextMessageEnd(self._text_id)

    def _end_reasoning(self) -> Iterator[Event]:
        self._is_reasoning_open = False
        yield events.ReasoningMessageEnd(self._reasoning_id)
        yield events.ReasoningEnd(self._reasoning_id)


class AnswerStream(AnswerReader):
    """Streams one answer as events. Text that is passed to `on_text` as it arrives is no item of it.

    Args:
        writer: turns deltas into events.
        transcript: applies each event before `on_text` gets it.
        on_text: called with each delta of text that makes exactly one event, which nearly all do; None to yield all
            events instead.
        run_id: for the log.
        grace: how many seconds the model may take to clean up.
    """

    def __init__(
        self,
        writer: EventWriter,
        transcript: Transcript,
        on_text: Callable[[Event], None] | None,
        *,
        model: Model,
        request: ModelRequest,
        run_id: str,
        grace: float,
    ) -> None:
        opened = partial(model.stream, request)
        # A wrapper that forwards unknown attributes to another model may change what that model streams.
        if on_text is not None and hasattr(type(model), "stream_to"):
            opened = partial(cast(DirectModel, model).stream_to, self._take_text, request)
        super().__init__(opened, name=model.name, run_id=run_id, grace=grace, on_left=transcript.timeline.leave)
        self._writer = writer
        self._transcript = transcript
        self._on_text = on_text
        self._rejected: Exception | None = None

    def events(self, delta: Delta) -> Iterable[Event]:
        """Return the events of a delta; none if it was passed to `on_text`.

        Raises what `on_text` has raised, for this delta or an earlier one.
        """
        if isinstance(delta, TextDelta) and self._rejected is None and self._pass_text(delta.text):
            return ()
        if self._rejected is not None:
            raise self._rejected
        return self._writer.write(delta)

    def _take_text(self, text: str) -> bool:
        """Take text from the model, if no other item of the answer is to be read before it; returns whether it did.

        Text of a model that goes on after the answer was closed is not wanted any more.
        """
        return self._is_closing or (self._arrival is not None and self._pass_text(text))

    def _pass_text(self, text: str) -> bool:
        """Pass text to `on_text` if it makes exactly one event; returns whether it did."""
        if self._on_text is None or (event := self._writer.text_event(text)) is None:
            return False
        try:
            self._transcript.apply(event)
            self._on_text(event)
        except Exception as exc:  # this can run inside the model's code, where it would count as the model's failure
            self._rejected = exc
            return False
        return True
