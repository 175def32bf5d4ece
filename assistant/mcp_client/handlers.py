"""What a client does when an external server logs, asks for roots, or asks for an answer of a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assistant.core.values.messages import Message

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


@dataclass(frozen=True, slots=True)
class ServerLog:
    """A line of a server's log. All of it is text from outside.

    Attributes:
        server: the server's name and version, as it says.
        logger: the part of the server that logs; "" if it does not say.
        data: a text, or other JSON.
    """

    server: str
    level: LogLevel
    data: Any
    logger: str = ""


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A server's wish for an answer of a model (MCP's sampling). All of it is text from outside.

    Attributes:
        server: the server's name and version, as it says.
        messages: texts of `user` and `assistant`.
        system: the system prompt that it wishes for; "" for none.
        max_tokens: of the answer.
    """

    server: str
    messages: tuple[Message, ...]
    system: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Handlers:
    """Functions that handle these; without one the server learns that the client does not support it.

    Attributes:
        log: gets lines from `log_level` on, at most `MAX_LOGS` a second.
        roots: returns `file://` addresses.
        sample: returns the answer's text, or None to refuse.
    """

    log: Callable[[ServerLog], Awaitable[None]] | None = None
    log_level: LogLevel = "info"
    roots: Callable[[], Awaitable[Sequence[str]]] | None = None
    sample: Callable[[SamplingRequest], Awaitable[str | None]] | None = None


NO_HANDLERS = Handlers()
