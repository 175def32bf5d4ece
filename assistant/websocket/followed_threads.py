"""The threads that one connection follows, each in its own task."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext

from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.eventlog.frames import with_thread
from assistant.services.eventlog.log import Position
from assistant.services.limits.rate_limits import render_bucket, snapshot_semaphore
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.run_key import key_of
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.reading.answer_details import answer_details
from assistant.services.runs.reading.stored_thread import stored_thread
from assistant.services.runs.reading.thread_notices import thread_notice
from assistant.services.runs.reading.thread_snapshot import (
    Snapshot,
    build_snapshot,
    may_read_run,
    thread_state,
)
from assistant.services.tenancy.members import Member
from assistant.websocket.follower import Follower, MayRead, Send, SnapshotTimeout
from assistant.websocket.tool_switches import are_tools_off, watch_tools

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
        stop_watching = watch_tools(self._member.tenant.pk, log)
        follower = Follower(
            thread=asked or thread,
            log=log,
            send=self._send if asked == known else self._renaming(asked),
            refresh=lambda: self._snapshot(thread_id),
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
            tells_tools=are_tools_off(self._member.tenant.pk),
        )
        task = asyncio.create_task(follower.follow(position, is_at_end=is_at_end), name=f"follow-{thread}")
        task.add_done_callback(lambda _: stop_watching())
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

    async def _snapshot(self, thread_id: uuid.UUID) -> Snapshot:
        state = await in_database(thread_state, member=self._member, thread_id=thread_id)
        if state is None:
            raise Refused("thread_not_found", gettext("There is no such conversation."))
        stored = await in_database(stored_thread, member=self._member, thread_id=thread_id)
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
