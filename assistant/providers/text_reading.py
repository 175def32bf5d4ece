"""What looks through the texts of answers: nothing, or what an optional app or a program has named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assistant.core.llm.protocol import Delta
from assistant.core.values.messages import Reply
from assistant.toolkit import Tool


class TextReading:
    """Looks through the text of one answer, and may hold back parts of it; this one leaves it as it is.

    Attributes:
        is_idle: whether no text needs to be looked at any more.
    """

    is_idle = True

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Begin an answer to a request that offered these tools."""

    def passed(self, deltas: Iterable[Delta]) -> Iterable[Delta]:
        """Return the deltas that may be shown."""
        return deltas

    def passing(self, on_text: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return `on_text` for text that may be shown at once; it returns False for any other."""
        return on_text

    def released(self) -> Iterable[Delta]:
        """Return what was held back, since the answer has failed."""
        return ()

    def finished(self, reply: Reply) -> tuple[Iterable[Delta], Reply]:
        """Return the deltas that were held back, and the reply. Raises `ModelError` if its text is no answer."""
        return (), reply


_reading: type[TextReading] = TextReading


def read_texts_with(reading: type[TextReading]) -> None:
    """Have all answers of this process looked through, in every wire format."""
    global _reading  # noqa: PLW0603 - of the process
    _reading = reading


def text_reading(tools: Sequence[Tool]) -> TextReading:
    """Return what looks through the answer to a request with these tools."""
    return _reading(tools)
