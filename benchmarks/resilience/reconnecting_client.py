"""A client that reconnects after every failure, catches up, and keeps what its user would see."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from websockets.exceptions import InvalidHandshake, InvalidMessage

from benchmarks.resilience.client import ENDINGS, Client, Disconnected, Frame, connected, run_input, run_of, seq_of

RETRY_SECONDS = 0.1
PATIENCE_SECONDS = 90.0


@dataclass(slots=True)
class Turn:
    """One prompt and its answer, as the client saw it.

    Args:
        given: the `RunAgentInput`.
        is_watched: the client only follows the run, which another client starts.
        shown: the text of the answer so far.
        repeated: how many events came twice.
        missing: how many events were skipped.
        silence: the longest time without an event, in seconds, from the prompt to the last event.
        refusals: the `RUN_ERROR` frames of runs that were not opened.
        close_codes: of the connections that the server closed meanwhile.
        end: the run's last event.
        seq: the sequence number of the last event.
        heard_at: when the last event came, on the monotonic clock.
    """

    given: Frame
    is_watched: bool = False
    shown: str = ""
    repeated: int = 0
    missing: int = 0
    silence: float = 0.0
    refusals: list[Frame] = field(default_factory=list)
    close_codes: list[int | None] = field(default_factory=list)
    end: Frame | None = None
    seq: int = 0
    heard_at: float = field(default_factory=time.monotonic)

    def take(self, frame: Frame) -> None:
        """Apply one event."""
        now = time.monotonic()
        self.silence = max(self.silence, now - self.heard_at)
        self.heard_at = now
        seq, kind = seq_of(frame), frame["type"]
        if kind == "MESSAGES_SNAPSHOT":
            answers = [message for message in frame["messages"] if message["role"] == "assistant"]
            self.shown = answers[-1].get("content", "") if answers and not answers[-1].get("toolCalls") else ""
            self.seq = seq
            return
        if kind == "RUN_STARTED" and seq != 1:
            return  # a snapshot of the whole thread follows
        self.repeated += seq <= self.seq and kind not in {"RUN_STARTED", "TEXT_MESSAGE_START", *ENDINGS}
        self.missing += max(0, seq - self.seq - 1)
        self.seq = max(seq, self.seq)
        if kind == "TEXT_MESSAGE_CONTENT":
            self.shown += frame["delta"]
        elif kind in ENDINGS:
            self.end = frame


class ReconnectingClient:
    """A client that knows the ports of all servers, and takes the next one when its own does not answer."""

    def __init__(self, ports: Sequence[int], key: str, number: int) -> None:
        self._ports, self._key, self._at = ports, key, number

    async def turn(self, prompt: str, thread: str = "") -> Turn:
        """Send a prompt and read to the end of the answer. Raises `TimeoutError` if it does not end."""
        return await self.finish(Turn(run_input(prompt, thread=thread)))

    async def finish(self, turn: Turn, *, when: asyncio.Event | None = None) -> Turn:
        """Do the same for a turn that the caller made, and may read meanwhile; once connected, wait for `when`."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while turn.end is None:
                try:
                    async with connected(self._ports[self._at % len(self._ports)], self._key) as client:
                        if when is not None:
                            await when.wait()
                        await self._follow(client, turn)
                except (OSError, InvalidHandshake, InvalidMessage, TimeoutError):
                    self._at += 1
                    await asyncio.sleep(RETRY_SECONDS)
        return turn

    async def _follow(self, client: Client, turn: Turn) -> None:
        try:
            await self._resume(client, turn)
            while turn.end is None:
                frame = await client.next(PATIENCE_SECONDS)
                is_refusal = frame["type"] == "RUN_ERROR" and not turn.seq
                if run_of(frame) == turn.given["runId"] and seq_of(frame) and not is_refusal:
                    turn.take(frame)
                elif is_refusal:
                    turn.refusals.append(frame)
                    await asyncio.sleep(RETRY_SECONDS)
                    await self._resume(client, turn)
        except Disconnected:
            turn.close_codes.append(client.close_code)
            self._at += 1

    async def _resume(self, client: Client, turn: Turn) -> None:
        after = (turn.given["runId"], turn.seq) if turn.seq else None
        if after or turn.is_watched:
            await client.attach(turn.given["threadId"], after=after)
        else:
            await client.send(turn.given)
