"""The `Model` protocol: a language model streams deltas, then one complete `Reply`; and what its requests use."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from assistant.core.values.history_window import estimate, estimate_tokens
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


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A call of a tool that the provider has run itself within its answer, such as a search of the web.

    Text and calls that follow it were written after its result was read.

    Attributes:
        id: the provider's id of the call.
        name: the tool's, as it was offered.
        arguments: a JSON object as text.
        result: what it brought, for people, the audit and other models.
        sources: where untrusted text in the result came from, as names.
        is_failed: whether the provider says that it failed.
        provider_state: of what the answer had up to this call, as `Message.provider_state`.
    """

    id: str
    name: str
    arguments: str
    result: str
    sources: tuple[str, ...] = ()
    is_failed: bool = False
    provider_state: str = field(default="", repr=False, compare=False)


Delta = TextDelta | ReasoningDelta | ToolCallDelta | ProviderCall


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model.

    Attributes:
        options: sent to the provider as they are (`temperature`, `max_tokens`, ...).
        tool_choice: "auto", "none", "required" or the name of a tool.
        response_format: requests structured output.
        without_files: leave out images and PDFs, which the provider has refused, although the model takes files.
        has_retries: whether the model's client may send it again by itself, after failures that may pass.
        on_sent: called with the body of each request that is sent, which has no key; None if nobody keeps it. A model
            need not call it.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None
    without_files: bool = False
    has_retries: bool = True
    on_sent: Callable[[bytes], None] | None = field(default=None, repr=False, compare=False)


class Model(Protocol):
    """A model of some provider.

    `stream` yields deltas as they arrive and, last, exactly one `Reply`. It raises a `ModelError` if there is no
    complete reply; the deltas until then are a partial answer. Deltas that arrive together are joined.
    Closing the iterator, or cancelling the task that reads it, ends the provider's request.

    Optional attributes: `output_mode`, how typed answers are requested ("native", the default, "tool" or "prompt"),
    `well_known_provider`, the provider's name in OpenTelemetry (default `provider`), `server_url`, the address of its
    server (default none), `circuit_key`, what distinguishes it in `Circuits` (default `provider` and `name`), and
    `provider_tools`, the names of tools that the provider runs itself if a request offers them (default none), and
    `is_small`, whether it reads slowly, so that the time until its first word counts towards no limit (default False).
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


# What kind of failure it was, as far as that decides what can be done about it. "empty": an answer without text and
# calls; "too_long": the conversation exceeds the model's context; "bad_call": the provider could not read a call that
# the model wrote; "bad_answer": the same of a typed answer; "bad_file": it does not take an image or PDF of the
# conversation; "busy", "slow" and "down": the provider cannot answer now, but another one could; "no_credit": the
# same, until somebody has paid; "written_call": the model wrote a call into its text that cannot be run.
FailureKind = Literal[
    "", "empty", "too_long", "bad_call", "bad_answer", "bad_file", "busy", "slow", "down", "no_credit", "written_call"
]
# Kinds of failures that the model can mend, since it wrote what could not be read.
UNREAD: frozenset[FailureKind] = frozenset({"bad_call", "bad_answer"})
# Kinds of failures that may pass by themselves, and those for which another model may take over.
PASSING: frozenset[FailureKind] = frozenset({"busy", "slow", "down"})
UNAVAILABLE: frozenset[FailureKind] = PASSING | {"no_credit"}


@dataclass(frozen=True, slots=True)
class FailureDetails:
    """What a provider said about a failure, for operators and developers: never shown to members.

    Attributes:
        status: the HTTP status; None if there was none.
        code: the provider's own code or type of the error.
        message: its own sentence, shortened, without keys and without text of the request.
        request_id: its id of the request, for its support.
    """

    status: int | None = None
    code: str = ""
    message: str = ""
    request_id: str = ""

    def __str__(self) -> str:
        status = "" if self.status is None else f"status {self.status}"
        known = ", ".join(filter(None, (status, self.code)))
        request = f"request {self.request_id}" if self.request_id else ""
        return "; ".join(filter(None, (": ".join(filter(None, (known, self.message))), request)))


class ModelError(Exception):
    """The provider gave no complete reply. The message is safe to show to users: no key, address, prompt or traceback.

    Attributes:
        code: a run error code: `provider_error`, `provider_quota`, `provider_rate_limited` or `provider_timeout`.
        usage: the tokens that the provider had counted until then.
        kind: what can be done about it; "" for what only people can mend.
        details: the provider's own reason; None if it gave none.
        is_worth_repeating: the same request may succeed soon, and has not been repeated yet.
        failed_call: what the model wrote, if `kind` is "bad_call" or "bad_answer" and the provider says it.
        repeated_requests: how many further requests were sent in vain, without tools that were refused.
    """

    def __init__(self, message: str, code: str = "provider_error", *, kind: FailureKind = "") -> None:
        super().__init__(message)
        self.code = code
        self.usage = Usage()
        self.kind: FailureKind = kind
        self.details: FailureDetails | None = None
        self.is_worth_repeating = False
        self.failed_call = ""
        self.repeated_requests = 0

    @property
    def cause(self) -> str:
        """The provider's own reason and the exception's notes, for the log and for operators."""
        notes: Sequence[str] = getattr(self, "__notes__", ())
        return "; ".join(filter(None, (*notes, str(self.details or "")))) or "no more is known"


class NoTypedAnswers(ModelError):
    """The provider does not support this way of requesting typed answers; another one may work."""


@lru_cache(maxsize=2_000)
def schema_tokens(tool: Tool) -> int:
    """Estimate how many tokens a tool adds to a request: its name, description and schema."""
    return estimate_tokens(tool.name + tool.description + json.dumps(tool.parameters))


def estimate_usage(request: ModelRequest, characters: int) -> Usage:
    """Estimate the usage of a request whose answer has `characters` so far."""
    sent = sum(map(estimate, request.messages)) + sum(map(schema_tokens, request.tools))
    return Usage(input_tokens=sent, output_tokens=-(-characters // 4), is_estimated=True)


def usage_of(request: ModelRequest, reply: Reply) -> Usage:
    """Return the usage of a request that was answered."""
    if reply.usage.total_tokens:
        return reply.usage
    characters = len(reply.text) + len(reply.reasoning) + sum(len(call.arguments) for call in reply.tool_calls)
    return estimate_usage(request, characters)


def usage_of_partial(request: ModelRequest, characters: int, exc: BaseException) -> Usage | None:
    """Return the usage of a request whose answer broke off, or None if the provider refused it before it began.

    An empty answer was computed, and is counted.

    Args:
        characters: how many characters of the answer had arrived.
        exc: the exception that ended the answer.
    """
    if not isinstance(exc, ModelError):
        return estimate_usage(request, characters)
    if exc.usage.total_tokens:
        return exc.usage
    return estimate_usage(request, characters) if characters or exc.kind == "empty" else None
