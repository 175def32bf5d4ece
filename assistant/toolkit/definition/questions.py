"""What a tool says to the person who is asked: a question with a form, or what a call would change."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.context import ToolContext
from assistant.toolkit.definition.handwritten import HandWritten
from assistant.toolkit.errors import ToolError
from assistant.toolkit.schema.json_schema import JsonSchema


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a person answers in place of the tool.

    Attributes:
        text: the question.
        schema: a JSON Schema of an object, which the answer has to fit; pages draw it as a form.
        key: by which a running tool finds the answer in `context.answers`, of `NeedsAnswer`; else empty.
    """

    text: str
    schema: JsonSchema
    key: str = ""

    def check(self, answer: str) -> dict[str, Any]:
        """Return the values of an answer, a JSON text. Raises `InvalidArguments`, which lists each invalid field."""
        return HandWritten(self.schema).check(parse_arguments(answer))


class NeedsAnswer(ToolError):
    """Raised by a running tool that cannot go on without a person's answer.

    The person is asked, and then the tool is called again with the same arguments and with all answers so far in
    `context.answers`. Raise it only if `context.answers` is not None. The message is what the model reads if nobody can
    be asked.
    """

    def __init__(self, question: Question) -> None:
        super().__init__("Not run to its end: it asks a question, and nobody can be asked here.")
        self.question = question


@dataclass(frozen=True, slots=True)
class Change:
    """What a call would change: a name for people, the value before (None: there was none), and the value after."""

    label: str
    old: Any
    new: Any


Changes = Iterable[Change] | AsyncIterable[Change]
# A function of the arguments and the context.
Preview = Callable[[Mapping[str, Any], ToolContext], Changes | Awaitable[Changes]]
