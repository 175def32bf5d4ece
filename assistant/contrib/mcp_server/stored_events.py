"""Keeps the events of sessions' streams for a while, so that a client whose connection broke can go on reading.

Only sessions in memory (`ASSISTANT_MCP_SESSIONS`) have such streams. Since protocol 2025-11-25 a stream begins with an
empty event that gives its first id, and says after how many milliseconds (`retry`) to connect again, with
`Last-Event-ID`.
"""

from __future__ import annotations

from cachetools import TTLCache
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

# The first protocol whose clients expect an event without data.
RESUMABLE_SINCE = "2025-11-25"
# Of the SDK's transport: how long a client waits before it connects again, in milliseconds.
RETRY_MILLISECONDS = 1_000
# Bytes of all sessions' events, and seconds for which they are kept.
MAX_BYTES, SECONDS = 64 * 2**20, 600
# Bytes that an event takes beside its JSON: small ones are mostly objects.
OVERHEAD = 1_500

_Stored = tuple[str, JSONRPCMessage | None, int]
_events: TTLCache[tuple[object, int], _Stored] = TTLCache(MAX_BYTES, SECONDS, getsizeof=lambda stored: stored[2])


class SessionEvents(EventStore):
    """The events of one session. The SDK names streams by ids of requests, which other sessions have too."""

    def __init__(self) -> None:
        self._session = object()
        self._latest = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event, and return its id; one that is too large for the store also gets an id."""
        self._latest += 1
        size = OVERHEAD
        if message is not None:
            size += len(message.model_dump_json(by_alias=True, exclude_none=True))
        if size <= MAX_BYTES:
            _events[self._session, self._latest] = (stream_id, message, size)
        return str(self._latest)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what followed an event of the same stream. Return the stream; None if the event is not known here."""
        if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 10):
            return None
        after = int(last_event_id)
        known = _events.get((self._session, after))
        if known is None:
            return None
        for number in range(after + 1, self._latest + 1):
            stored = _events.get((self._session, number))
            if stored is not None and stored[0] == known[0] and stored[1] is not None:
                await send_callback(EventMessage(stored[1], str(number)))
        return known[0]
