"""Stores for the conversations that `ChatClient` continues between calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from assistant.core.values.messages import Message


class ConversationStore(Protocol):
    """Keeps messages by a conversation's key. Implement it to use a file, a cache or a database."""

    async def load(self, key: str) -> Sequence[Message]:
        """Return the conversation so far, oldest message first; empty if there is none."""

    async def append(self, key: str, messages: Sequence[Message]) -> None:
        """Add the messages of one turn."""


class InMemoryStore:
    """Keeps conversations in memory, until the process ends."""

    def __init__(self) -> None:
        self._messages: defaultdict[str, list[Message]] = defaultdict(list)

    async def load(self, key: str) -> Sequence[Message]:
        return list(self._messages.get(key, ()))

    async def append(self, key: str, messages: Sequence[Message]) -> None:
        self._messages[key].extend(messages)
