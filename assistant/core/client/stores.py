"""Where `ChatClient` keeps conversations between calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from assistant.core.values.messages import Message


class ConversationStore(Protocol):
    """Keeps messages by a conversation's key; write your own for a file, a cache or a database."""

    async def load(self, key: str) -> Sequence[Message]:
        """The conversation so far, oldest first; empty if there is none."""

    async def append(self, key: str, messages: Sequence[Message]) -> None:
        """Keep what one turn added."""


class InMemoryStore:
    """Conversations for as long as the process lives."""

    def __init__(self) -> None:
        self._messages: defaultdict[str, list[Message]] = defaultdict(list)

    async def load(self, key: str) -> Sequence[Message]:
        return list(self._messages.get(key, ()))

    async def append(self, key: str, messages: Sequence[Message]) -> None:
        self._messages[key].extend(messages)
