"""Sends the events of threads to one connection, at that connection's pace, and knows which threads it follows."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import closing
from typing import Any

import msgspec
from django.utils.translation import gettext

from assistant.core.values.deadline import IdleTimer, TimeSlice
from assistant.core.values.events import Custom, Event
from assistant.markdown.stream import BlockRenderer
from assistant.services.conversations.added_notices import ADDED, watch_added
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.eventlog.frames import FrameEncoder, decode_event, with_thread, without_cancelled
from assistant.services.eventlog.log import PATH, SUMMARY, Entry, Position, ThreadLog
from assistant.services.limits.rate_limits import render_bucket, snapshot_semaphore
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.run_key import key_of
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.reading.answer_details import answer_details
from assistant.services.runs.reading.stored_thread import stored_thread
from assistant.services.runs.reading.thread_notices import thread_notice
from assistant.services.runs.reading.thread_snapshot import (
    SNAPSHOT_RETRY_SECONDS,
    Snapshot,
    build_snapshot,
    may_read_run,
    thread_state,
)
from assistant.services.tenancy.members import Member
from assistant.services.token_bucket import Bucket

Send = Callable[[str], Coroutine[Any, Any, None]]
Refresh = Callable[[], Awaitable[Snapshot]]
Settle = Callable[[], Awaitable[Position | None]]
Notice = Callable[[str, int], Awaitable[tuple[str, Custom] | None]]
Details = Callable[[int | None], Awaitable[list[dict[str, Any]]]]
MayRead = Callable[[int], Awaitable[bool]]

# A comment on an answer may have 4,000 characters, and a frame ends at 256 KiB.
DETAILS_PER_EVENT = 10
# If a run has no events for this long, the database is asked whether it is still running or its process was killed.
SILENCE_SECONDS = 5.0
# A client that does not read a snapshot within this time is disconnected, because the member's other connections wait.
SNAPSHOT_TIMEOUT_SECONDS = 30.0


class SnapshotTimeout(Exception):
    """The client did not read a snapshot in time."""


class Follower:
    """Follows one thread for one connection.

    Args:
        thread: the conversation's threadId.
        log: the thread's log of events.
        send: sends a frame to the client; it may wait for the client to read.
        refresh: returns a snapshot of the thread, which replaces events that the log no longer holds.
        settle: called when a run has sent nothing for long. It appends the run's end to the log if that is missing,
            and returns its position, or None while the run is still running.
        notice: returns the event of a notice, such as `SUMMARY`, and the id of the run with a number.
        details: returns the details of the answers of a run, by its number, or of all for None.
        may_read: says by a run's number whether the client may read it; None if it may read all. Others are left out.
        gate: limits how many snapshots the member's connections are sent at the same time.
        bucket: limits how many characters are rendered for the member.
        renders: the client wants rendered Markdown blocks, notices and details of answers.
        knows_outcomes: the client's protocol version has outcomes; others get events `without_cancelled`.
        told: the notices of optional apps that the client is told at first, and not only when they change.
    """

    def __init__(
        self,
        *,
        thread: str,
        log: ThreadLog,
        send: Send,
        refresh: Refresh,
        settle: Settle,
        notice: Notice,
        details: Details,
        may_read: MayRead | None = None,
        gate: asyncio.Semaphore,
        bucket: Bucket,
        renders: bool,
        knows_outcomes: bool,
        told: Collection[str] = (),
    ) -> None:
        self.thread = thread
        self.knows_outcomes = knows_outcomes
        self._log = log
        self._send = send
        self._refresh = refresh
        self._settle = settle
        self._notice = notice
        self._details = details
        self._may_read = may_read
        self._readable: dict[int, bool] = {}
        self._sent = {
            SUMMARY: -1,
            **{what: -1 if what in told else log.changes[what] for what in ADDED},
        }
        self._sent_paths = 0
        self._gate = gate
        self._bucket = bucket
        self._snapshot_limit: asyncio.Timeout | None = None
        self._renders = renders
        self._renderer = BlockRenderer(self._pace) if renders else None
        self._is_at_end = False
        self._is_overdue = False
        self._position = Position(0, 0)

    def render(self) -> None:
        """Send rendered blocks too, starting with the next run."""
        self._renders = True

    async def _pace(self, characters: int) -> None:
        """Wait until so many characters may be rendered."""
        delay = self._bucket.reserve(characters)
        if delay:
            limit = self._snapshot_limit
            if limit is not None and (ends_at := limit.when()) is not None:
                limit.reschedule(ends_at + delay)  # this wait is not the client's fault
            await asyncio.sleep(delay)

    async def follow(self, position: Position | None, *, is_at_end: bool = False) -> None:
        """Send the events after `position`, or a snapshot and the events after it if that is None, until cancelled.

        `is_at_end`: `position` is the end of its run.

        Raises:
            SnapshotTimeout: the client did not read a snapshot in time.
        """
        self._is_at_end = is_at_end
        idle_timer = IdleTimer(SILENCE_SECONDS, self._on_silence)
        with self._log.watching() as changed, closing(idle_timer) as self._idle_timer:
            self._changed = changed
            self._sent_paths = self._log.changes[PATH]
            if position is not None and not position.seq:
                self._sent = {what: self._log.changes[what] for what in self._sent}  # who starts a run has them already
            if position is None:
                await self._send_snapshot()
            else:
                await self._restore_renderer(position)
                self._position = position
            while True:
                changed.clear()
                if self._sent_paths != self._log.changes[PATH]:  # another path of the conversation is shown now
                    self._sent_paths = self._log.changes[PATH]
                    await self._send_snapshot()
                position = self._position
                entries = self._log.read(position)
                if self._may_read is not None and entries:
                    entries = await self._readable_part(entries, self._may_read)
                    if not entries:
                        continue
                # Nearly always the next event has come, and nothing else has to be checked.
                if entries:
                    first = (entries[0].number, entries[0].seq)
                    is_next = first == (position.number, position.seq + 1)
                    begins_next_run = self._is_at_end and first == (position.number + 1, 1)
                    if not (is_next or begins_next_run or self._is_reachable(entries[0])):
                        await self._replace_lost_events(changed)
                        continue
                if self._renderer is not None:
                    await self._send_notices(position)
                if not entries:
                    await self._wait(changed)
                    continue
                await self._send_entries(entries)
                self._position = Position(entries[-1].number, entries[-1].seq)
                self._is_at_end = entries[-1].is_end

    async def _send_entries(self, entries: Sequence[Entry]) -> None:
        time_slice = TimeSlice()
        for entry in entries:
            await time_slice.pause()
            frame = entry.frame
            if self._renders and self._renderer is None and entry.seq == 1:
                self._renderer = BlockRenderer(self._pace)
            await self._send(frame if self.knows_outcomes else without_cancelled(frame))
            if self._renderer is not None:
                await self._send_rendered(self._renderer, entry)

    async def _readable_part(self, entries: Sequence[Entry], may_read: MayRead) -> list[Entry]:
        """Return the entries of the first run; if the client may not read it, skip them and return nothing."""
        number = entries[0].number
        # Asked for again at a run's first event: the id of a deleted conversation can be used again.
        if number not in self._readable or entries[0].seq == 1:
            self._readable = {number: await may_read(number)}
        first = [entry for entry in entries if entry.number == number]
        if self._readable[number]:
            return first
        self._position, self._is_at_end = first[-1].position, first[-1].is_end
        return []

    async def _wait(self, changed: asyncio.Event) -> None:
        """Wait for events. If a run has none for `SILENCE_SECONDS`, find out whether it has ended."""
        if self._is_at_end:
            await changed.wait()
            return
        self._idle_timer.start()
        try:
            await changed.wait()
        finally:
            self._idle_timer.since = None
        if self._is_overdue:
            self._is_overdue = False
            end = await self._settle()
            self._is_at_end = end is not None
            if end is not None and end.number == self._position.number and end <= self._position:
                # The client has all events except the run's end, which was appended afterwards.
                await self._send_snapshot()

    def _on_silence(self) -> None:
        self._is_overdue = True
        self._changed.set()

    def _is_reachable(self, entry: Entry) -> bool:
        """Return whether `entry`, the next one in the log, directly follows what was sent."""
        if self._is_at_end:
            return entry.position == (self._position.number + 1, 1)
        return self._log.holds(self._position)

    async def _replace_lost_events(self, changed: asyncio.Event) -> None:
        """Send a snapshot in place of events that the log no longer holds; wait if the snapshot is not new enough."""
        await self._send_snapshot(beyond=self._position)
        if not (entries := self._log.read(self._position)) or self._is_reachable(entries[0]):
            return
        await asyncio.sleep(SNAPSHOT_RETRY_SECONDS)
        if self._is_at_end:  # the rest of this run is not sent: wait for the next run
            await changed.wait()

    async def _send_event(self, frame: str) -> None:
        await self._send(frame if self.knows_outcomes else without_cancelled(frame))

    async def _send_rendered(self, renderer: BlockRenderer, entry: Entry) -> None:
        """Send the blocks that an event completes, and after a run's end the details of its answers."""
        await self._send_blocks(await renderer.apply(decode_event(entry.frame)), entry)
        if entry.is_end:
            await self._send_details(entry.position, entry.number)

    async def _send_blocks(self, blocks: Sequence[Event], entry: Entry) -> None:
        if blocks:
            run = msgspec.json.decode(entry.frame)["metadata"]["run"]
            encoder = FrameEncoder(run_id=run["id"], thread=run["thread"])
            for block in blocks:
                await self._send(encoder.frame(block, entry.seq))

    async def _send_notices(self, position: Position) -> None:
        """Send the notices about the thread that have changed, with the number of the event before."""
        changes = self._log.changes
        if not position.seq or all(changes[what] == sent for what, sent in self._sent.items()):
            return
        for what in self._sent:
            is_new, self._sent[what] = changes[what] != self._sent[what], changes[what]
            if is_new and (found := await self._notice(what, position.number)):
                await self._send(FrameEncoder(run_id=found[0], thread=self.thread).frame(found[1], position.seq))

    async def _send_details(self, position: Position, number: int | None) -> None:
        """Send the details of the answers of run `number`, or of all, with the number of the event before."""
        known = await self._details(number)
        for start in range(0, len(known), DETAILS_PER_EVENT):
            about = known[start : start + DETAILS_PER_EVENT]
            encoder = FrameEncoder(run_id=known[-1]["runId"], thread=self.thread)
            await self._send(encoder.frame(Custom("message.details", {"messages": about}), position.seq))

    async def _send_snapshot(self, *, beyond: Position | None = None) -> None:
        """Send a snapshot and continue from its position. With `beyond`, only if it is newer than that position."""
        snapshot: Snapshot | None = None
        async with self._gate:
            try:
                async with asyncio.timeout(SNAPSHOT_TIMEOUT_SECONDS) as limit:
                    self._snapshot_limit = limit
                    snapshot = await self._refresh()
                    is_new_end = snapshot.is_end and not self._is_at_end
                    if beyond is None or snapshot.position > beyond or is_new_end:
                        await self._write_snapshot(snapshot)
            except TimeoutError as exc:
                if snapshot is None or not limit.expired():
                    raise
                raise SnapshotTimeout(f"the snapshot was not read in {SNAPSHOT_TIMEOUT_SECONDS:g} s") from exc
            finally:
                self._snapshot_limit = None

    async def _write_snapshot(self, snapshot: Snapshot) -> None:
        for frame in snapshot.frames[: snapshot.head]:
            await self._send(frame)
        if self._renderer is not None:
            self._renderer = BlockRenderer(self._pace)
            time_slice = TimeSlice()
            for message_id, text in snapshot.texts:
                is_open = message_id in snapshot.open_texts
                is_cut = not is_open and message_id in snapshot.cut_texts
                for block in await self._renderer.catch_up(message_id, text, is_open=is_open, is_cut=is_cut):
                    await self._send(snapshot.encoder.frame(block, snapshot.position.seq))
                await time_slice.pause()
        for frame in snapshot.frames[snapshot.head :]:
            await self._send_event(frame)
        if self._renderer is not None:
            await self._send_details(snapshot.position, None)
        self._position, self._is_at_end = snapshot.position, snapshot.is_end
        for what, after_snapshot in ADDED.items():
            if after_snapshot:  # clients take it in place of all that they show
                self._sent[what] = -1

    async def _restore_renderer(self, position: Position) -> None:
        """Render the run up to `position`, and send its blocks again: the client may have missed the last ones."""
        if self._renderer is None:
            return
        time_slice = TimeSlice()
        for entry in self._log.read(Position(position.number, 0)):
            await time_slice.pause()
            if entry.position <= position:
                await self._send_blocks(await self._renderer.apply(decode_event(entry.frame)), entry)


logger = logging.getLogger(__name__)

# When a connection attaches to more threads, it stops following the one attached first.
MAX_FOLLOWED = 50


class FollowedThreads:
    """The threads that a member's connection follows.

    `send` sends a frame to the client. `on_failure` is called when following a thread fails, and must close the
    connection: the client could not tell a failed thread from a quiet one.
    """

    def __init__(self, member: Member, *, send: Send, on_failure: Callable[[], object]) -> None:
        self._member = member
        self._send = send
        self._on_failure = on_failure
        self._gate = snapshot_semaphore(tenant_id=member.tenant_id, user_id=member.user_id)
        self._bucket = render_bucket(tenant_id=member.tenant_id, user_id=member.user_id)
        # Only this API has `attach`, and its clients know outcomes. A client that starts a run without a protocol
        # version may use an AG-UI version older than outcomes.
        self._knows_outcomes = True
        self._has_named_version = False
        self._followers: dict[str, tuple[Follower, asyncio.Task[None]]] = {}

    def __contains__(self, thread: str) -> bool:
        return thread in self._followers

    def set_version(self, *, is_named: bool) -> None:
        """Record whether a frame named a protocol version. Outcomes are sent once any frame did."""
        self._has_named_version = self._has_named_version or is_named
        self._knows_outcomes = self._has_named_version
        for follower, _ in self._followers.values():
            follower.knows_outcomes = self._knows_outcomes

    def render(self, thread_id: uuid.UUID) -> None:
        """If the thread is followed, also send rendered blocks, starting with its next run."""
        follower, _ = self._followers.get(str(thread_id), (None, None))
        if follower is not None:
            follower.render()

    async def follow(
        self,
        thread_id: uuid.UUID,
        position: Position | None,
        *,
        renders: bool,
        is_at_end: bool = False,
        asked: str = "",
        known: str = "",
    ) -> None:
        """Follow a thread from after `position`, or from a snapshot if that is None. Replaces an earlier `follow`.

        `is_at_end`: `position` is the end of its run. `asked`: the threadId that the client uses. `known`: that
        in the thread's events, which began it.
        """
        thread = str(thread_id)
        await self._unfollow(thread)
        if len(self._followers) >= MAX_FOLLOWED:
            await self._unfollow(next(iter(self._followers)))
        log = await get_runs().log.open(thread)
        told, stops = watch_added(self._member.tenant.pk, log)
        follower = Follower(
            thread=asked or thread,
            log=log,
            send=self._send if asked == known else self._renaming(asked),
            refresh=lambda: self._snapshot(thread_id, with_added=not renders),
            settle=lambda: self._settle(thread_id),
            notice=lambda what, number: in_database(
                thread_notice, member=self._member, thread_id=thread_id, number=number, what=what
            ),
            details=lambda number: self._details(thread_id, number),
            may_read=self._may_read(thread_id) if self._member.reads_only_own_runs else None,
            gate=self._gate,
            bucket=self._bucket,
            renders=renders,
            knows_outcomes=self._knows_outcomes,
            told=told,
        )
        task = asyncio.create_task(follower.follow(position, is_at_end=is_at_end), name=f"follow-{thread}")
        task.add_done_callback(lambda _: [stop() for stop in stops])
        task.add_done_callback(self._on_done)
        self._followers[thread] = (follower, task)

    def _renaming(self, thread: str) -> Send:
        return lambda frame: self._send(with_thread(frame, thread))

    async def close(self) -> None:
        """Stop following all threads."""
        tasks = [task for _, task in self._followers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _unfollow(self, thread: str) -> None:
        _, task = self._followers.pop(thread, (None, None))
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (failure := task.exception()) is None:
            return
        tenant_id = self._member.tenant_id
        if isinstance(failure, SnapshotTimeout):  # a client can cause this, so it is not logged as an error
            logger.warning("Disconnecting a client of tenant %s: %s", tenant_id, failure)
        elif isinstance(failure, OSError) and failure.errno is None:
            # What ASGI servers raise for a client that has gone.
            logger.info("A client of tenant %s has gone: %r", tenant_id, failure)
        else:
            logger.error("Following a thread of tenant %s failed", tenant_id, exc_info=failure)
        self._on_failure()

    def _may_read(self, thread_id: uuid.UUID) -> MayRead:
        return lambda number: in_database(may_read_run, member=self._member, thread_id=thread_id, number=number)

    async def _snapshot(self, thread_id: uuid.UUID, *, with_added: bool) -> Snapshot:
        state = await in_database(thread_state, member=self._member, thread_id=thread_id)
        if state is None:
            raise Refused("thread_not_found", gettext("There is no such conversation."))
        stored = await in_database(stored_thread, member=self._member, thread_id=thread_id, with_added=with_added)
        return build_snapshot(state=state, log=await get_runs().log.open(str(thread_id)), stored=stored)

    async def _details(self, thread_id: uuid.UUID, number: int | None) -> list[dict[str, Any]]:
        try:
            return await in_database(answer_details, member=self._member, thread_id=thread_id, number=number)
        except OUTAGE_ERRORS:
            return []  # the answer itself has been sent; a reload shows its details

    async def _settle(self, thread_id: uuid.UUID) -> Position | None:
        if get_runs().works_on(str(thread_id)):
            return None  # its task ends after its last event, so that the database need not be asked
        try:
            state = await in_database(thread_state, member=self._member, thread_id=thread_id)
            if state is None:
                return Position(0, 0)
            end = await append_missing_end(key=key_of(state.run, ""), log=get_runs().log)
        except OUTAGE_ERRORS:
            return None  # asked again after the next silence
        return end.position if end is not None else None
