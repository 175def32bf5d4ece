"""Conversations as lists of events that only grow: messages, compactions, and events of a program's own."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assistant.client.stores import STORE_SECONDS, ConversationKey
from assistant.core.conversation.summary import summary_of
from assistant.core.llm.protocol import Model
from assistant.core.values.history_window import estimate
from assistant.core.values.messages import Message
from assistant.toolkit.calls.gate import HandedIn, called

# Kinds of events that a session makes itself.
MESSAGE = "message"
COMPACTED = "compacted"
RESTORED = "restored"
OWN_KINDS = frozenset({MESSAGE, COMPACTED, RESTORED})
MAX_KIND = 64
# Bytes of the JSON of one event of a program's own.
MAX_VALUE = 100_000


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """Something that happened in a conversation.

    Attributes:
        kind: `message`, `compacted`, `restored`, or a kind of the program's own.
        value: JSON: of a message its fields, of a compaction the summary and how many messages it stands for.
        at: when it was added, in UTC.
    """

    kind: str
    value: Any = None
    at: dt.datetime = field(default_factory=_now)


class EventStore(ABC):
    """Keeps conversations as events, which makes compactions that can be undone and events of one's own possible.

    A subclass has `read` and `write`, async or not. Nothing is ever changed or removed by a session.
    """

    @abstractmethod
    def read(self, key: ConversationKey) -> Any:
        """Return the conversation's events, oldest first: a list of `SessionEvent`; empty if there is none."""

    @abstractmethod
    def write(self, key: ConversationKey, events: Sequence[SessionEvent]) -> Any:
        """Add events at the end, all or none."""

    async def load(self, key: ConversationKey) -> Sequence[Message]:
        """Return the messages that the next call goes on from."""
        return messages_in(await self.events(key))

    async def append(self, key: ConversationKey, messages: Sequence[Message]) -> None:
        """Add the messages of one turn."""
        await self.add(key, [SessionEvent(MESSAGE, msgspec.to_builtins(message)) for message in messages])

    async def events(self, key: ConversationKey) -> Sequence[SessionEvent]:
        """Return what `read` does. Raises what it raises, or `NoAnswer`."""
        name = type(self).__name__
        events: Sequence[SessionEvent] = await called(
            HandedIn(self.read, (key,), "read", name, Sequence, STORE_SECONDS)
        )
        return events

    async def add(self, key: ConversationKey, events: Sequence[SessionEvent]) -> None:
        """Do what `write` does. Raises what it raises, or `NoAnswer`."""
        await called(HandedIn(self.write, (key, events), "write", type(self).__name__, seconds=STORE_SECONDS))


class InMemoryStore(EventStore):
    """Keeps conversations in memory, until the process ends."""

    def __init__(self) -> None:
        self._events: defaultdict[str, list[SessionEvent]] = defaultdict(list)

    async def read(self, key: str) -> Sequence[SessionEvent]:
        return list(self._events.get(key, ()))

    async def write(self, key: str, events: Sequence[SessionEvent]) -> None:
        self._events[key].extend(events)


class Session:
    """One conversation in an `EventStore`. It is made by `ChatClient.session`."""

    def __init__(self, store: EventStore, key: ConversationKey, model: Model) -> None:
        self._store = store
        self._key = key
        self._model = model

    async def messages(self) -> Sequence[Message]:
        """Return the messages that the next call goes on from."""
        return await self._store.load(self._key)

    async def events(self, *kinds: str) -> list[SessionEvent]:
        """Return the events of these kinds, oldest first; without any, all of them."""
        return [event for event in await self._store.events(self._key) if not kinds or event.kind in kinds]

    async def add(self, kind: str, value: Any = None) -> None:
        """Add an event of a kind of your own, with a JSON value. No model is sent it.

        Raises:
            ValueError: the kind is empty, too long or taken, or the value is too large.
            TypeError: the value is not JSON.
        """
        if not 0 < len(kind) <= MAX_KIND or kind in OWN_KINDS:
            raise ValueError(
                f"A kind has 1 to {MAX_KIND} characters, and is none of {', '.join(sorted(OWN_KINDS))}; not {kind!r}."
            )
        encoded = msgspec.json.encode(value)
        if len(encoded) > MAX_VALUE:
            raise ValueError(f"The value of an event has at most {MAX_VALUE} bytes of JSON, not {len(encoded)}.")
        await self._store.add(self._key, [SessionEvent(kind, msgspec.json.decode(encoded))])

    async def compact(self, *, tokens: int) -> bool:
        """Have the model summarise older turns, if the conversation is longer than `tokens`.

        Turns stay whole: about half of the tokens, and at least the last turn, stay as they are. All messages stay in
        the store; the next calls go on from the summary and what has come since.

        Returns:
            Whether anything was summarised.

        Raises:
            ModelError: the model gave no summary; nothing has changed.
        """
        events = await self._store.events(self._key)
        messages = messages_in(events)
        older = older_turns(messages, tokens)
        if not older:
            return False
        summary = await summary_of(self._model, older, tokens=tokens)
        value = {"summary": msgspec.to_builtins(summary), "until": _count(events) - (len(messages) - len(older))}
        await self._store.add(self._key, [SessionEvent(COMPACTED, value)])
        return True

    async def undo_compaction(self) -> bool:
        """Go on from all messages that the last compaction has summarised. Return whether there was one."""
        if not _compactions(await self._store.events(self._key)):
            return False
        await self._store.add(self._key, [SessionEvent(RESTORED)])
        return True


def older_turns(messages: Sequence[Message], tokens: int) -> Sequence[Message]:
    """Return the turns at the beginning that are to be summarised, so that about half of the tokens stay."""
    if sum(map(estimate, messages)) <= tokens:
        return ()
    begins = [number for number, message in enumerate(messages) if message.role == "user"][1:]
    for begin in begins:
        if sum(map(estimate, messages[begin:])) <= tokens // 2:
            return messages[:begin]
    return messages[: begins[-1]] if begins else ()


def messages_in(events: Iterable[SessionEvent]) -> list[Message]:
    """Return the messages that a conversation goes on from: the last summary that holds, and what came after it."""
    events = list(events)
    messages = [msgspec.convert(event.value, Message) for event in events if event.kind == MESSAGE]
    compactions = _compactions(events)
    if not compactions:
        return messages
    last = compactions[-1].value
    return [msgspec.convert(last["summary"], Message), *messages[last["until"] :]]


def _compactions(events: Iterable[SessionEvent]) -> list[SessionEvent]:
    """Return the compactions that were not undone."""
    holding: list[SessionEvent] = []
    for event in events:
        if event.kind == COMPACTED:
            holding.append(event)
        elif event.kind == RESTORED and holding:
            holding.pop()
    return holding


def _count(events: Iterable[SessionEvent]) -> int:
    return sum(event.kind == MESSAGE for event in events)
