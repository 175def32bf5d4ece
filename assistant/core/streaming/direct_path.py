"""One answer of a model on its way to who reads the run: through the turn's generators or, if it can be, past them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable

from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import Delta, Model, ModelRequest, TextDelta, direct
from assistant.core.streaming.event_writer import EventWriter
from assistant.core.values.events import Event
from assistant.core.values.messages import Reply


class AnswerStream:
    """Tells an answer's deltas.

    Args:
        writer: makes events of the deltas.
        transcript: gets an event before `tell` is given it.
        tell: is given every piece of text that is one event, which is nearly all of them; None if none is to be.
    """

    def __init__(self, writer: EventWriter, transcript: Transcript, tell: Callable[[Event], None] | None) -> None:
        self._writer = writer
        self._transcript = transcript
        self._tell = tell
        self._failure: Exception | None = None

    def stream(self, model: Model, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """The model's answer; what can be told where it arrives is told there, and does not come."""
        if self._tell is None or (listened := direct(model)) is None:
            return model.stream(request)
        return listened.stream_to(self._hear, request)

    def say(self, delta: Delta) -> Iterable[Event]:
        """The events of a delta that are not told yet. Raises what `tell` raised, of this delta or an earlier one."""
        if isinstance(delta, TextDelta) and self._failure is None and self._hear(delta.text):
            return ()
        if self._failure is not None:
            raise self._failure
        return self._writer.say(delta)

    def _hear(self, text: str) -> bool:
        """Tell more of the answer's text, if that is one event; returns whether it was."""
        if self._tell is None or (event := self._writer.text(text)) is None:
            return False
        try:
            self._transcript.apply(event)
            self._tell(event)
        except Exception as exc:  # not to be taken for a failure of the model, in whose code this may be
            self._failure = exc
            return False
        return True
