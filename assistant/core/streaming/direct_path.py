"""Streams one answer of a model: through the turn's generators or, where possible, directly to a callback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial

from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.answer_reader import AnswerReader
from assistant.core.llm.protocol import Delta, Model, ModelRequest, TextDelta, direct
from assistant.core.streaming.event_writer import EventWriter
from assistant.core.values.events import Event
from assistant.core.values.messages import Reply


class AnswerStream:
    """Streams one answer as events.

    Args:
        writer: turns deltas into events.
        transcript: applies each event before `on_text` gets it.
        on_text: called with each delta of text that makes exactly one event, which nearly all do; None to yield all
            events instead.
    """

    def __init__(self, writer: EventWriter, transcript: Transcript, on_text: Callable[[Event], None] | None) -> None:
        self._writer = writer
        self._transcript = transcript
        self._on_text = on_text
        self._failure: Exception | None = None
        self._reader: AnswerReader | None = None
        self._is_closed = False

    def open(self, model: Model, request: ModelRequest, *, run_id: str, grace: float) -> AnswerReader:
        """Return the model's answer, without the text that is passed to `on_text` as it arrives.

        Args:
            run_id: for the log.
            grace: how many seconds the model may take to clean up.
        """
        opened = partial(self._open, model, request)
        self._reader = AnswerReader(opened, name=model.name, run_id=run_id, grace=grace)
        return self._reader

    async def close(self) -> None:
        """End the answer; text of a model that goes on is not taken."""
        self._is_closed = True
        if self._reader is not None:
            await self._reader.aclose()

    def _open(self, model: Model, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        if self._on_text is None or (direct_model := direct(model)) is None:
            return model.stream(request)
        return direct_model.stream_to(self._take_text, request)

    def events(self, delta: Delta) -> Iterable[Event]:
        """Return the events of a delta; none if it was passed to `on_text`.

        Raises what `on_text` has raised, for this delta or an earlier one.
        """
        if isinstance(delta, TextDelta) and self._failure is None and self._pass_text(delta.text):
            return ()
        if self._failure is not None:
            raise self._failure
        return self._writer.write(delta)

    def _take_text(self, text: str) -> bool:
        """Take text from the model, if no other item of the answer is to be read before it; returns whether it did."""
        if self._is_closed:
            return True
        return self._reader is not None and self._reader.is_waiting and self._pass_text(text)

    def _pass_text(self, text: str) -> bool:
        """Pass text to `on_text` if it makes exactly one event; returns whether it did."""
        if self._on_text is None or (event := self._writer.text_event(text)) is None:
            return False
        try:
            self._transcript.apply(event)
            self._on_text(event)
        except Exception as exc:  # this can run inside the model's code, where it would count as the model's failure
            self._failure = exc
            return False
        return True
