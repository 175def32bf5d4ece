"""The `Model` protocol: a language model streams deltas, then one complete `Reply`."""

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
    """One request to a model.

    Attributes:
        options: sent to the provider as they are (`temperature`, `max_tokens`, ...).
        tool_choice: "auto", "none", "required" or the name of a tool.
        response_format: requests structured output.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None


class Model(Protocol):
    """A model of some provider.

    `stream` yields deltas as they arrive and, last, exactly one `Reply`. It raises a `ModelError` if there is no
    complete reply; the deltas until then are a partial answer. Deltas that arrive together are joined.
    Closing the iterator, or cancelling the task that reads it, ends the provider's request.

    Optional attributes: `output_mode`, how typed answers are requested ("native", the default, "tool" or "prompt"),
    and `well_known_provider`, the provider's name in OpenTelemetry (default `provider`).
    """

    @property
    def name(self) -> str:
        """The model's name at the provider."""

    @property
    def provider(self) -> str:
        """The provider's name, for usage figures and for people."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]: ...


class DirectModel(Protocol):
    """A model that can pass text to a callback as it arrives, which costs less than waking the task that reads."""

    def stream_to(self, on_text: Callable[[str], bool], request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """As `Model.stream`, but text that arrives while the reader waits may be passed to `on_text`.

        Text for which `on_text` returns True is not yielded. `on_text` must not raise.
        """


def direct(model: Model) -> DirectModel | None:
    """Return the model, if its own class is a `DirectModel`; else None.

    A wrapper that forwards unknown attributes to another model is not one: it may change what that model streams.
    """
    return cast(DirectModel, model) if hasattr(type(model), "stream_to") else None


class ModelError(Exception):
    """The provider gave no complete reply. The message is safe to show to users: no key, address, prompt or traceback.

    Attributes:
        code: a run error code: `provider_error`, `provider_rate_limited` or `provider_timeout`.
        usage: the tokens that the provider had counted until then.
    """

    def __init__(self, message: str, code: str = "provider_error") -> None:
        super().__init__(message)
        self.code = code
        self.usage = Usage()

    @property
    def cause(self) -> str:
        """The exception's notes, for the log: statuses, codes and names of exceptions."""
        return "; ".join(getattr(self, "__notes__", ())) or "no more is known"


class NoTypedAnswers(ModelError):
    """The provider does not support this way of requesting typed answers; another one may work."""
