"""What a language model is to the loop: something that streams deltas, then one whole `Reply`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from assistant.core.values.messages import Message, Reply, Usage
from assistant.toolkit import Tool


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's reasoning, where the provider shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of one tool call.

    The first delta of a call carries `id` and `name` and may carry arguments; later ones carry `arguments` only.
    `index` is the position of the call in the reply.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


Delta = TextDelta | ReasoningDelta | ToolCallDelta


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model.

    `options` goes to the provider as it is (`temperature`, `max_tokens`, ...). `response_format` asks for a typed
    answer.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None


class Model(Protocol):
    """A model of some provider.

    `stream` yields deltas as they arrive and, last, exactly one `Reply`. It raises a `ModelError` when there is no
    whole reply to give; what had been streamed until then stays valid as a partial answer. Deltas that arrive
    together come joined. Closing the iterator, or cancelling the task that reads it, ends the provider's request.
    """

    @property
    def name(self) -> str:
        """The model's name at the provider."""

    @property
    def provider(self) -> str:
        """Who answers, for usage figures and for people."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]: ...


class DirectModel(Protocol):
    """A model that can give text to its reader right where it arrives, which costs less than to wake the reader."""

    def stream_to(self, hear: Callable[[str], bool], request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """As `Model.stream`, but text that comes while the reader waits may be given to `hear`.

        What `hear` took (it says so, and raises nothing) is not yielded.
        """


def direct(model: Model) -> DirectModel | None:
    """The model, if it is a `DirectModel` by its own class.

    Not one that only hands on what it does not know to another: it stands around that to change what it streams.
    """
    return cast(DirectModel, model) if hasattr(type(model), "stream_to") else None


class ModelError(Exception):
    """The provider gave no whole reply.

    `code` is one of the run error codes (`provider_error`, `provider_rate_limited`, `provider_timeout`);
    the text is safe to show to a user: never a key, an address, a prompt or a traceback. `usage` is what the provider
    had counted until then.
    """

    def __init__(self, message: str, code: str = "provider_error") -> None:
        super().__init__(message)
        self.code = code
        self.usage = Usage()

    @property
    def cause(self) -> str:
        """What is known of why, for the log: statuses, codes and names of exceptions, as they were noted with it."""
        return "; ".join(getattr(self, "__notes__", ())) or "no more is known"


class NoTypedAnswers(ModelError):
    """The provider knows this way of asking for a typed answer not; it can be asked in another."""
