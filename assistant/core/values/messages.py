"""The messages of a conversation as frozen values, and their form in the chat-completions wire format."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, Literal

import msgspec

from assistant.core.values.citations import Citation
from assistant.toolkit import Media
from assistant.toolkit.bounded_json import load_json

Role = Literal["system", "user", "assistant", "tool"]
# Floats represent all integers up to here exactly.
MAX_EXACT = 2**53
# Clients see reasoning as a message of its own, whose id is the message's with this suffix.
REASONING_SUFFIX = "-reasoning"
# AG-UI starts an id once in a run. Text that goes on after a call of the same message has an id with such an end.
_PART = re.compile(r"-part\d+$")


def new_id() -> str:
    """Return an id for a message, a call or a run."""
    return uuid.uuid4().hex


def result_id(call_id: str) -> str:
    """Return the id of the message that holds a call's result; one call has one."""
    return f"{call_id}-result"


def part_id(part_of: str, number: int) -> str:
    """Return the id of the part `number`, from 1, of a message's text or reasoning."""
    return part_of if number == 1 else f"{part_of}-part{number}"


def without_part(part: str) -> str:
    """Return the id that the first part of the same text or reasoning has."""
    return _PART.sub("", part) if "-part" in part else part


def _normalize_numbers(value: Any) -> Any:
    """Return the value with integral floats as integers: 1.0 as 1."""
    if isinstance(value, dict):
        return {key: _normalize_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT else value


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's request to run a tool.

    `arguments` is the JSON text exactly as the model sent it, neither parsed nor repaired.
    """

    id: str
    name: str
    arguments: str

    @property
    def canonical(self) -> tuple[str, str]:
        """The name, and the arguments in canonical form if they are JSON: equal for identical calls."""
        try:
            value = _normalize_numbers(load_json(self.arguments, loads=msgspec.json.decode))
            return self.name, msgspec.json.encode(value, order="deterministic").decode()
        except ValueError:
            return self.name, self.arguments.strip()

    def to_wire(self) -> dict[str, Any]:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that a user sent with a message, by its id; its content is in the message's text and media.

    `size` is in bytes, `media_type` as the content says.
    """

    id: str
    name: str
    media_type: str
    size: int

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> AttachedFile:
        return cls(state["id"], state["name"], state["mediaType"], state["size"])

    def to_state(self) -> dict[str, Any]:
        """Return the file as JSON can hold it, with the names that clients see."""
        return {"id": self.id, "name": self.name, "mediaType": self.media_type, "size": self.size}


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation.

    Attributes:
        id: identifies the message to clients.
        is_partial: the text was cut off by a cancellation, a crash or an error.
        media: images of a tool's result or of a user's message, for models that see images.
        sources: where untrusted text in it came from, as names for people; empty if all of it is trusted.
        from_caller: whether it is the result of a tool that the caller ran itself. It is as trusted as the caller.
        provider_state: what the provider gave with the message for itself, such as signatures of its calls, as text
            that only the model's adapter reads. It is neither shown nor logged, and no part of comparisons.
        attachments: the files that a user sent with it.
        page: what a client says of its page with a user's message, between markers. `untrusted.for_model` puts it
            before the text; nobody has written it as a message, so that no destination is trusted because it is in it.
        is_superseded: it belongs to a step that was cut when its process died, and that was repeated in later messages.
            It stays in the conversation for people; no model is sent it.
        cut_reason: of a partial answer, the reason that `message.cut` gave; empty if there was no such event.

    `id`, `reasoning`, `is_partial`, `sources`, `from_caller`, `attachments` and `cut_reason` are never sent to a
    provider.
    """

    role: Role
    content: str = ""
    id: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    reasoning: str = ""
    is_partial: bool = False
    media: tuple[Media, ...] = ()
    sources: tuple[str, ...] = ()
    from_caller: bool = False
    provider_state: str = field(default="", repr=False, compare=False)
    attachments: tuple[AttachedFile, ...] = ()
    page: str = ""
    is_superseded: bool = False
    cut_reason: str = ""


# A frozen dataclass sets each attribute with a function call; one that is not frozen takes a third of the time.
_Unfrozen: Any = make_dataclass(
    "_Unfrozen", [(one.name, one.type, field(default=one.default)) for one in fields(Message)], slots=True
)


def messages_of(rows: Iterable[tuple[Any, ...]]) -> list[Message]:
    """Make messages from the values of their fields, in that order; fast enough for hundreds in every turn."""
    messages: list[Any] = [_Unfrozen(*row) for row in rows]
    for message in messages:
        message.__class__ = Message
    return messages


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls, as the provider counted them; `input_tokens` includes the cached ones.

    Attributes:
        cache_write_tokens: of the input, those that the provider wrote to a cache, which costs more.
        is_estimated: whether some of it is an estimate, because an answer broke off or the provider sent no counts.
        cost: in millionths of the currency unit of the prices; 0 where no price is known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    is_estimated: bool = False
    cost: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.is_estimated or other.is_estimated,
            self.cost + other.cost,
            self.cache_write_tokens + other.cache_write_tokens,
        )


FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "refusal"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete answer of a model; every stream of `Model.stream` ends with one.

    Attributes:
        provider_state: as `Message.provider_state`, of the message that the answer becomes.
        response_id: the provider's id of the response; "" if it gave none.
        has_read_calls: whether the calls were read from the text, where the provider had left them.
        repeated_requests: how many requests were sent before this one was answered, because a tool was refused.
        citations: what the provider itself says that the text was taken from.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: FinishReason = "stop"
    model: str = ""
    provider_state: str = field(default="", repr=False, compare=False)
    response_id: str = field(default="", compare=False)
    has_read_calls: bool = field(default=False, compare=False)
    repeated_requests: int = field(default=0, compare=False)
    citations: tuple[Citation, ...] = ()


def not_superseded(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without those of steps that were repeated."""
    return [message for message in messages if not message.is_superseded]


def unanswered_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls of the last assistant message that have no result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool":
            answered.add(message.tool_call_id)
        elif message.role == "assistant":
            return tuple(call for call in message.tool_calls if call.id not in answered)
    return ()


def answered_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls that have a result."""
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    return [call for message in messages for call in message.tool_calls if call.id in answered]


def current_turn_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the last user message and everything after it."""
    start = next((index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "user"), len(messages))
    return tuple(messages[start:])


def last_calls(messages: Sequence[Message]) -> Sequence[ToolCall]:
    """Return the calls of the last assistant message, with or without results."""
    return next((message.tool_calls for message in reversed(messages) if message.role == "assistant"), ())
