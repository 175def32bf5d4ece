"""Frames of optional apps: a handler for the types that it knows, made for a connection with the first such frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from assistant.services.tenancy.members import Member
    from assistant.websocket.follower import Send


class FrameHandler(Protocol):
    """Handles an app's frames of one connection."""

    def __init__(self, member: Member, *, send: Send, on_failure: Callable[[], object]) -> None:
        """Begin.

        Args:
            send: sends a frame to the client.
            on_failure: called when the handler cannot go on; closes the connection.
        """

    async def handle(self, frame: Mapping[str, Any]) -> None:
        """Do what a frame says. The scopes that its type needs have been checked."""

    async def close(self) -> None:
        """End what goes on: the connection is closed."""


@dataclass(frozen=True, slots=True)
class AddedFrame:
    """A type of frames, for the description of the websocket API.

    Attributes:
        summary: what the frame does, in a sentence.
        required: the JSON Schemas of its fields besides `type`, by name.
        optional: those that may be left out.
    """

    summary: str
    required: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)


_frames: dict[str, AddedFrame] = {}
# By the frame's type: the dotted name of its handler's class.
_handlers: dict[str, str] = {}


def handle_frames(frames: Mapping[str, AddedFrame], *, handler: str) -> None:
    """Let an app handle frames. `services.tenancy.scopes.add_rules` says which scopes they need.

    Args:
        frames: by the frame's type.
        handler: the dotted name of a `FrameHandler`.
    """
    _frames.update(frames)
    _handlers.update(dict.fromkeys(frames, handler))


def described_frames() -> Mapping[str, AddedFrame]:
    """Return the frames of all apps by their types."""
    return _frames


class AddedFrames:
    """The handlers of one connection."""

    def __init__(self, member: Member, *, send: Send, on_failure: Callable[[], object]) -> None:
        self._member = member
        self._send = send
        self._on_failure = on_failure
        self._made: dict[str, FrameHandler] = {}

    def has(self, kind: object) -> bool:
        """Return whether an app handles frames of this type."""
        return kind in _handlers

    async def handle(self, frame: Mapping[str, Any]) -> None:
        """Do what a frame of such a type says."""
        name = _handlers[frame["type"]]
        if name not in self._made:
            made: type[FrameHandler] = import_string(name)
            self._made[name] = made(self._member, send=self._send, on_failure=self._on_failure)
        await self._made[name].handle(frame)

    async def close(self) -> None:
        """End what the handlers do for the connection."""
        await asyncio.gather(*(handler.close() for handler in self._made.values()))
