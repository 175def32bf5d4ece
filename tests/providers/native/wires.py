"""Answers in Anthropic's and Google's wire formats, and servers that refuse every request that breaks their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assistant.providers import model_class
from assistant.providers.native.model import NativeModel
from tests.fake_answers import Answer, Recorded, Script
from tests.fake_provider import FakeProvider
from tests.providers.native import anthropic_wire, google_wire

Body = dict[str, Any]


class Say(Protocol):
    """Makes an answer: text, reasoning and calls of (name, arguments), and what the provider wants back with these."""

    def __call__(
        self, text: str = "", *, reasoning: str = "", calls: Sequence[tuple[str, Any]] = (), number: int = 0
    ) -> Answer: ...


@dataclass(frozen=True)
class Wire:
    """One wire format: its name, a model, and what its servers say and refuse.

    Attributes:
        failed: makes an answer with an error status from the status and the sentence.
        given: what the provider gave in a request that has it back: signatures and ids.
    """

    name: str
    model: str
    say: Say
    problems: Callable[[Body], Iterable[str]]
    failed: Callable[..., Answer]
    broken: Callable[[int, str], bytes]
    texts: Callable[[Body], list[tuple[str, str]]]
    given: Callable[[Body], list[str]]


WIRES = {
    "anthropic": Wire(
        "anthropic",
        "claude-sonnet-5-5",
        anthropic_wire.say,
        anthropic_wire.problems,
        anthropic_wire.failed,
        anthropic_wire.error_event,
        anthropic_wire.texts,
        anthropic_wire.given,
    ),
    "google": Wire(
        "google",
        "gemini-3.8-flash",
        google_wire.say,
        google_wire.problems,
        google_wire.failed,
        google_wire.error_event,
        google_wire.texts,
        google_wire.given,
    ),
}


class PickyServer:
    """The rule of a fake provider that speaks one wire: answers from a list, then with "Fine."

    Attributes:
        refused: why requests were refused.
        bodies: those that were accepted.
    """

    def __init__(self, wire: Wire, *answers: Answer | Script) -> None:
        self._wire = wire
        self._answers = list(answers)
        self.refused: list[str] = []
        self.bodies: list[Body] = []

    def __call__(self, request: Recorded) -> Answer:
        if problems := list(self._wire.problems(request.json)):
            self.refused += problems
            return self._wire.failed(400, problems[0])
        self.bodies.append(request.json)
        answer = self._answers.pop(0) if self._answers else self._wire.say("Fine.")
        return answer if isinstance(answer, Answer) else answer(request)


def model_at(provider: FakeProvider, wire: Wire, **options: Any) -> NativeModel[Any]:
    """Return a model of this wire that asks the fake provider."""
    made: NativeModel[Any] = model_class(wire.name)(
        wire.model, **{"base_url": provider.url, "api_key": "", "max_retries": 0, "timeout": 5, **options}
    )
    return made
