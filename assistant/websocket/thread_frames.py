"""The frames of a connection that are about one thread: runs, attaching, ratings, other paths."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from assistant.core.values.events import Custom
from assistant.models.fields import OnDisconnect
from assistant.services.callers.connections import waiting_input
from assistant.services.conversations.feedback import rate_answer
from assistant.services.conversations.thread_keys import find_thread
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.eventlog.frames import bare_frame, refusal_frame
from assistant.services.eventlog.log import Position
from assistant.services.run_key import key_of
from assistant.services.runs.busy_threads import WaitingInput
from assistant.services.runs.input.ids import parse_thread
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.busy_thread import ThreadBusy
from assistant.services.runs.opening.known_thread import known_thread
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.reading.thread_snapshot import can_catch_up, thread_state
from assistant.services.runs.run_input import RunInput, parse_input
from assistant.services.runs.shown_path import NOT_FOUND as NO_MESSAGE
from assistant.services.runs.shown_path import show_path
from assistant.services.tenancy.authentication import Caller
from assistant.toolkit.text import clean_text
from assistant.websocket.followed_threads import FollowedThreads
from assistant.websocket.follower import Send
from assistant.websocket.frames import parse_after, parse_message_id, protocol_error
from assistant.websocket.later_runs import LaterRuns


class ThreadFrames:
    """Does what a member's frames say about their threads. Methods raise `Refused`.

    Args:
        assistant: the slug of the connection's assistant.
        threads: those that the connection follows.
        later: its runs that wait, or end with it.
        send: sends a frame to the client.
    """

    def __init__(
        self, caller: Caller, assistant: str, *, threads: FollowedThreads, later: LaterRuns, send: Send
    ) -> None:
        self._caller = caller
        self._member = caller.member
        self._assistant = assistant
        self._threads = threads
        self._later = later
        self._send = send

    async def run(self, frame: Mapping[str, Any]) -> None:
        member, slug = self._member, self._assistant
        given = parse_input(frame)
        if given.thread_key:
            given = await in_database(known_thread, member=member, assistant_slug=slug, given=given)
        self._threads.set_version(is_named=bool(given.protocol_version))
        forwarded = frame.get("forwardedProps")
        renders = isinstance(forwarded, dict) and forwarded.get("render") == "html"
        if renders:
            self._threads.render(given.thread_id)
        try:
            opened = await get_runs().open(member=member, assistant_slug=slug, given=given, is_counted=True)
        except ThreadBusy as busy:
            # In a task of its own: this connection's next frames, which may stop the other run, must not wait.
            waiting = waiting_input(busy, self._caller, assistant_slug=slug, given=given)
            opening = self._run_when_free(waiting, given, renders)
            self._later.begin(lambda refusal: self._refuse(frame, refusal), waiting, opening)
            return
        # Answers that were sent before under another id: the run that they began is sent again, because the client
        # waits for it.
        is_repeat = opened.setup is None and given.run_id not in (opened.key.run_id, opened.key.client_run)
        await self._follow_run(opened, given, renders, again=is_repeat)

    async def _run_when_free(self, waiting: WaitingInput, given: RunInput, renders: bool) -> None:
        if (opened := await waiting.opened()) is not None:
            await self._follow_run(opened, given, renders)

    async def _follow_run(self, opened: OpenedRun, given: RunInput, renders: bool, *, again: bool = False) -> None:
        if opened.setup is not None and opened.on_disconnect is OnDisconnect.CANCEL:
            self._later.stop_at_end(opened.key)
        thread_id, start = opened.key.conversation_id, Position(opened.key.number, 0)
        # The id of a deleted conversation can be used again: a connection that followed it must follow the new one.
        is_new_thread = opened.setup is not None and opened.key.number == 1
        if again or is_new_thread or opened.key.thread not in self._threads:
            log = await get_runs().log.open(opened.key.thread)
            if opened.is_fresh:
                await log.wait_for_run(opened.key.number)
            elif opened.setup is None and log.last is not None:
                await append_missing_end(key=opened.key, log=get_runs().log)
            is_whole = opened.setup is not None or log.holds(start)
            position, known = start if is_whole else None, opened.key.client_thread
            await self._threads.follow(thread_id, position, renders=renders, asked=given.thread, known=known)

    async def rate(self, frame: Mapping[str, Any]) -> None:
        thread, message_id = parse_thread(frame.get("threadId")), frame.get("messageId")
        rating: Any = frame.get("rating")
        comment = frame.get("comment", "")
        is_rating = isinstance(rating, int) and not isinstance(rating, bool) and rating in (1, 0, -1)
        if not (is_rating and isinstance(message_id, str) and isinstance(comment, str)):
            await self._protocol_error(
                "invalid_frame", "feedback has messageId, rating (1, -1, 0) and comment, a text."
            )
            return
        about = {"threadId": thread, "messageId": (message := clean_text(message_id))}
        thread_id = await self._find_thread(thread)
        is_done = thread_id is not None and await in_database(
            rate_answer,
            member=self._member,
            conversation_id=thread_id,
            message_id=message,
            rating=rating,
            comment=comment,
        )
        ending = {"rating": rating} if is_done else {"rating": 0, "error": gettext("There is no such answer any more.")}
        await self._send(bare_frame(Custom("feedback", {**about, **ending})))

    async def show(self, frame: Mapping[str, Any]) -> None:
        message_id = parse_message_id(frame.get("messageId"))
        thread_id = await self._find_thread(parse_thread(frame.get("threadId")))
        try:
            if thread_id is None:
                raise Refused("thread_not_found", gettext(NO_MESSAGE))
            await show_path(member=self._member, conversation_id=thread_id, message_id=message_id)
        except Refused as exc:  # not a RUN_ERROR: no run has failed
            if exc.code == "thread_busy":
                await self._protocol_error("thread_busy", str(exc))
            else:
                await self._protocol_error("thread_not_found", str(exc))

    async def attach(self, frame: Mapping[str, Any]) -> None:
        thread = parse_thread(frame.get("threadId"))
        after_run, after_seq = parse_after(frame.get("after"))
        if frame.get("protocolVersion"):
            self._threads.set_version(is_named=True)
        thread_id, state = await self._find_thread(thread), None
        if thread_id is not None:
            state = await in_database(
                thread_state, member=self._member, thread_id=thread_id, after_run=after_run, after_seq=after_seq
            )
        if thread_id is None or state is None:
            raise Refused("thread_not_found", gettext("There is no such conversation."))
        log = await get_runs().log.open(str(thread_id))
        if state.run.is_fresh:
            await log.wait_for_run(state.run.number)
        if state.after is not None and not state.is_running and log.last is not None:
            await append_missing_end(key=key_of(state.run, ""), log=get_runs().log)
        position = state.after if can_catch_up(state, log) else None
        renders = frame.get("render") == "html"
        known = state.run.conversation.thread
        await self._threads.follow(
            thread_id, position, renders=renders, is_at_end=state.is_at_end, asked=thread, known=known
        )

    async def _find_thread(self, thread: str) -> uuid.UUID | None:
        return await in_database(find_thread, member=self._member, assistant_slug=self._assistant, thread=thread)

    async def _refuse(self, frame: Mapping[str, Any], refusal: Refused) -> None:
        await self._send(refusal_frame(frame, refusal))

    async def _protocol_error(self, code: str, reason: str) -> None:
        await self._send(protocol_error(code, reason))
