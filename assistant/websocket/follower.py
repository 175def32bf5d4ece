"""Sends one thread's events to one connection, each reader at its own pace from its own place in the log."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import closing
from typing import Any

import msgspec

from assistant.core.values.events import Custom, Event
from assistant.core.values.idle_timer import IdleTimer
from assistant.markdown.stream import BlockRenderer
from assistant.services.eventlog.frames import FrameEncoder, decode_event, without_cancelled
from assistant.services.eventlog.log import Entry, Position, ThreadLog
from assistant.services.runs.thread_snapshot import SNAPSHOT_RETRY_SECONDS, Snapshot
from assistant.websocket.eager_step import Rest, begin

Send = Callable[[str], Coroutine[Any, Any, None]]
Refresh = Callable[[], Awaitable[Snapshot]]
Settle = Callable[[], Awaitable[Position | None]]
Summary = Callable[[int], Awaitable[tuple[str, str] | None]]

# Rendering a long history is work: other connections get their turn after this many texts.
TEXTS_PER_TURN = 5
# A run that says nothing for so long works, or its process was killed.
SILENCE_SECONDS = 5.0
# Whoever does not take a picture in this time is dropped: it holds up the member's other connections.
PICTURE_SECONDS = 30.0


class LatePicture(Exception):
    """A client did not take the picture of a thread; its text says so."""


class Follower:
    """Follows a thread from a position on.

    `refresh` paints a fresh picture when the reader has fallen out of the log. `settle` is asked when a run says
    nothing for long: it puts the run's end into the log if that is missing there, and returns its place, or None while
    the run is running. `summary` is asked for the id of a run, by its number, and what the thread's older part has
    become; whoever wants rendered text is told of that. `gate` lets a member's connections get pictures one after the
    other. A client that did not say which protocol version it speaks does not get what its own does not know
    (`without_cancelled`).
    """

    def __init__(
        self,
        *,
        thread: str,
        log: ThreadLog,
        send: Send,
        refresh: Refresh,
        settle: Settle,
        summary: Summary,
        gate: asyncio.Semaphore,
        renders: bool,
        speaks_outcomes: bool,
    ) -> None:
        self.thread = thread
        self.speaks_outcomes = speaks_outcomes
        self._log = log
        self._send = send
        self._refresh = refresh
        self._settle = settle
        self._summary = summary
        self._told_summaries = -1
        self._gate = gate
        self._renders = renders
        self._renderer = BlockRenderer() if renders else None
        self._is_at_end = False
        self._is_silent_for_long = False
        self._position = Position(0, 0)
        # Nothing is to be done but to wait for the next event, which can be sent from where it is written.
        self._is_idle = False
        self._rest: Rest | None = None
        self._failure: Exception | None = None
        self._context = contextvars.copy_context()

    def render(self) -> None:
        """Send rendered blocks too, from the next run on."""
        self._renders = True

    async def follow(self, position: Position | None, *, is_at_end: bool = False) -> None:
        """Send what comes after `position`, or a fresh picture first if there is none; goes on until cancelled.

        `is_at_end` says that `position` is the end of its run.
        """
        self._is_at_end = is_at_end
        idle_timer = IdleTimer(SILENCE_SECONDS, self._on_silence)
        with self._log.watching(self._take) as changed, closing(idle_timer) as self._idle_timer:
            self._changed = changed
            if position is not None and not position.seq:
                self._told_summaries = self._log.summaries  # a run that begins has its summary from before
            if position is None:
                await self._send_picture()
            else:
                await self._prime(position)
                self._position = position
            while True:
                changed.clear()
                position = self._position
                entries = self._log.read(position)
                # Nearly always it is the next event that has come, and nothing else is to be looked at.
                is_next = not entries or entries[0].position == (position.number, position.seq + 1)
                if not is_next and not self._is_reachable(entries[0]):
                    await self._repaint(changed)
                    continue
                if self._renderer is not None:
                    await self._tell_summary(position)
                if not entries:
                    await self._wait(changed)
                    continue
                for entry in entries:
                    frame = entry.frame
                    if self._renders and self._renderer is None and entry.seq == 1:
                        self._renderer = BlockRenderer()
                    await self._send(frame if self.speaks_outcomes else without_cancelled(frame))
                    if self._renderer is not None:
                        await self._send_blocks(await self._renderer.apply(decode_event(frame)), entry)
                self._position = entries[-1].position
                self._is_at_end = entries[-1].is_end

    async def _wait(self, changed: asyncio.Event) -> None:
        """Wait for more; within a run, a long silence is looked into."""
        if self._is_at_end:
            await changed.wait()
            return
        self._idle_timer.start()
        self._is_idle = True
        try:
            await changed.wait()
        except BaseException:
            if self._rest is not None:
                self._rest.close()
            raise
        finally:
            self._is_idle = False
            self._idle_timer.stop()
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest
        if self._failure is not None:
            raise self._failure
        if self._is_silent_for_long:
            self._is_silent_for_long = False
            end = await self._settle()
            self._is_at_end = end is not None
            if end is not None and end.number == self._position.number and end <= self._position:
                # It is not the end that was shown in this place: as much was shown as was kept, or more.
                await self._send_picture()

    def _on_silence(self) -> None:
        self._is_silent_for_long = True
        self._changed.set()

    def _take(self, entries: Sequence[Entry]) -> bool:
        """Send what is written, at once, while the reader takes it; returns whether nothing is left to be done."""
        if not self._is_idle or self._renders:
            return False
        number, seq = self._position
        for entry in entries:
            if entry.number != number or entry.seq != seq + 1 or entry.is_end:
                self._is_idle = False
                return False
            try:
                # As if it were sent from the reader's own task, which the log's labels and traces go by.
                self._rest = self._context.run(begin, self._send(entry.frame))
            except Exception as exc:
                self._failure = exc
            seq += 1
            self._position = Position(number, seq)
            if self._rest is not None or self._failure is not None:
                self._is_idle = False
                return False
        self._idle_timer.start()
        return True

    def _is_reachable(self, entry: Entry) -> bool:
        """Whether nothing is missing before what the log has next: a run's end is followed by the next one's first."""
        if self._is_at_end:
            return entry.position == (self._position.number + 1, 1)
        return self._log.holds(self._position)

    async def _repaint(self, changed: asyncio.Event) -> None:
        """Show a picture in place of events that are gone, and wait if it does not reach what the log has next."""
        await self._send_picture(beyond=self._position)
        entries = self._log.read(self._position)
        if not entries or self._is_reachable(entries[0]):
            return
        await asyncio.sleep(SNAPSHOT_RETRY_SECONDS)
        if self._is_at_end:  # what is left of the run is not to be told: only another one brings news
            await changed.wait()

    async def _send_event(self, frame: str) -> None:
        await self._send(frame if self.speaks_outcomes else without_cancelled(frame))

    async def _send_blocks(self, blocks: Sequence[Event], entry: Entry) -> None:
        if blocks:
            run = msgspec.json.decode(entry.frame)["metadata"]["run"]
            numbering = FrameEncoder(run_id=run["id"], thread=run["thread"])
            for block in blocks:
                await self._send(numbering.frame(block, entry.seq))

    async def _tell_summary(self, position: Position) -> None:
        """Tell the thread's summary at first, and whenever it is another; repeats the number of the event before it."""
        told = self._log.summaries
        if self._renderer is None or told == self._told_summaries or not position.seq:
            return
        self._told_summaries = told
        found = await self._summary(position.number)
        if found is not None:
            run_id, summary = found
            numbering = FrameEncoder(run_id=run_id, thread=self.thread)
            await self._send(numbering.frame(Custom("thread.summary", {"summary": summary}), position.seq))

    async def _send_picture(self, *, beyond: Position | None = None) -> None:
        """Send a picture and go on from it; with `beyond` only one that shows more than what came until then."""
        picture: Snapshot | None = None
        async with self._gate:
            try:
                async with asyncio.timeout(PICTURE_SECONDS) as limit:
                    picture = await self._refresh()
                    is_end_news = picture.is_end and not self._is_at_end
                    if beyond is None or picture.position > beyond or is_end_news:
                        await self._paint(picture)
            except TimeoutError as exc:
                if picture is None or not limit.expired():
                    raise
                raise LatePicture(f"the picture was not taken in {PICTURE_SECONDS:g} s") from exc

    async def _paint(self, picture: Snapshot) -> None:
        for frame in picture.frames[: picture.head]:
            await self._send(frame)
        if self._renderer is not None:
            self._renderer = BlockRenderer()
            for turn, (message_id, text) in enumerate(picture.texts):
                is_open = message_id in picture.open_texts
                for block in await self._renderer.catch_up(message_id, text, is_open=is_open):
                    await self._send(picture.numbering.frame(block, picture.position.seq))
                if turn % TEXTS_PER_TURN == 0:
                    await asyncio.sleep(0)
        for frame in picture.frames[picture.head :]:
            await self._send_event(frame)
        self._position, self._is_at_end = picture.position, picture.is_end

    async def _prime(self, position: Position) -> None:
        """Bring the renderer to where the client is; blocks of this run are sent again, for the last may be lost."""
        if self._renderer is None:
            return
        for entry in self._log.read(Position(position.number, 0)):
            if entry.position <= position:
                await self._send_blocks(await self._renderer.apply(decode_event(entry.frame)), entry)
