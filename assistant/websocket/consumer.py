"""The websocket API: reads clients' frames and calls a service for each. Runs do not depend on it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils.translation import activate, gettext, gettext_noop

from assistant.core.values.events import Custom
from assistant.core.values.frame_sizes import MAX_FRAME, MAX_SERVER_FRAME
from assistant.models.fields import OnDisconnect
from assistant.services.callers.connections import connection_slot, waiting_input, while_access_lasts
from assistant.services.callers.doors import aadmit
from assistant.services.connections import shutdown
from assistant.services.connections.connection_limits import TooManyConnections
from assistant.services.connections.open_connections import is_full
from assistant.services.connections.server_frame_bound import note_large_frame
from assistant.services.conversations.feedback import rate_answer
from assistant.services.conversations.thread_keys import find_thread
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused, log_failure
from assistant.services.eventlog.frames import bare_frame, refusal_frame
from assistant.services.eventlog.log import Position
from assistant.services.limits.rate_limits import (
    CONNECTION_BURST,
    CONNECTION_RATE,
    member_bucket,
    take_handshake,
)
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.run_key import key_of
from assistant.services.runs.busy_threads import WaitingInput
from assistant.services.runs.input.ids import parse_id
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.busy_thread import ThreadBusy
from assistant.services.runs.opening.known_thread import known_thread
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.reading.thread_snapshot import can_catch_up, thread_state
from assistant.services.runs.run_input import RunInput, parse_input
from assistant.services.runs.shown_path import NOT_FOUND as NO_MESSAGE
from assistant.services.runs.shown_path import show_path
from assistant.services.tenancy.authentication import AccessDenied, Caller
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.scopes import FRAMES, HANDSHAKE, RUN, Rule
from assistant.services.text import JSONOutOfBounds, read_json
from assistant.services.token_bucket import Bucket
from assistant.toolkit.text import clean_text
from assistant.websocket import handshake
from assistant.websocket.added_frames import AddedFrames
from assistant.websocket.follower import FollowedThreads, Send
from assistant.websocket.frames import parse_after, parse_message_id, protocol_error, where_to_upload
from assistant.websocket.later_runs import LaterRuns

logger = logging.getLogger(__name__)


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
        member = self._member
        slug = self._assistant
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
        thread_id = opened.key.conversation_id
        start = Position(opened.key.number, 0)
        # The id of a deleted conversation can be used again: a connection that followed it must follow the new one.
        is_new_thread = opened.setup is not None and opened.key.number == 1
        if again or is_new_thread or opened.key.thread not in self._threads:
            log = await get_runs().log.open(opened.key.thread)
            if opened.is_fresh:
                await log.wait_for_run(opened.key.number)
            elif opened.setup is None and log.last is not None:
                await append_missing_end(key=opened.key, log=get_runs().log)
            is_whole = opened.setup is not None or log.holds(start)
            position = start if is_whole else None
            known = opened.key.client_thread
            await self._threads.follow(thread_id, position, renders=renders, asked=given.thread, known=known)

    async def rate(self, frame: Mapping[str, Any]) -> None:
        thread = parse_id(frame.get("threadId"), "threadId")
        message_id = frame.get("messageId")
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
        thread_id = await self._find_thread(parse_id(frame.get("threadId"), "threadId"))
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
        thread = parse_id(frame.get("threadId"), "threadId")
        after_run, after_seq = parse_after(frame.get("after"))
        if frame.get("protocolVersion"):
            self._threads.set_version(is_named=True)
        thread_id = await self._find_thread(thread)
        state = None
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


class BaseConsumer(AsyncWebsocketConsumer):
    """A consumer that queries the database only through `in_database`, and joins no group.

    Before each message, Channels closes old database connections in a thread, which takes longer than answering most
    messages. It is not needed: all connections belong to the threads of `in_database`, which closes them.
    """

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the method for an ASGI message. Raises `ValueError` if there is none."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"There is no handler for messages of type {message['type']}.")
        await handler(message)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """Call `disconnect` after the connection was closed, and stop the consumer."""
        await self.disconnect(message["code"])
        raise StopConsumer

    async def send_frame(self, frame: str) -> None:
        """Send a text frame like `send`, without its checks, because this is called for every token."""
        await self.base_send({"type": "websocket.send", "text": frame})


CLOSE_TOO_LARGE = 1009
CLOSE_FAILED = 1011
CLOSE_RESTART = 1012
CLOSE_ACCESS_LOST = 4401
CLOSE_TOO_MANY = 4429
TOO_LARGE = f"A frame holds at most {MAX_FRAME} bytes."
TOO_MANY_FRAMES = gettext_noop("Too many messages at once. Come back in a second.")
TOO_MANY_HANDSHAKES = gettext_noop("Too many connections at once. Try again in a second.")
SERVER_FULL = gettext_noop("Too many connections to this server. Try again in a minute.")


class ChatConsumer(BaseConsumer):
    """One connection of one member to one assistant."""

    member: Member
    _threads: FollowedThreads

    async def connect(self) -> None:
        # Of all sentences for this connection, and of the runs that it begins.
        activate(handshake.language_of(self.scope))
        route = self.scope["url_route"]["kwargs"]
        self._assistant = route["assistant"]
        self._is_closing = False
        self._bucket = Bucket(CONNECTION_BURST, CONNECTION_RATE)
        # Everything to close with the connection.
        self._held = AsyncExitStack()
        credentials = handshake.credentials_of(self.scope)
        # Before any query, so that a flood of handshakes does not reach the database.
        has_token = take_handshake(handshake.credential_text(self.scope, credentials))
        if not has_token or is_full():
            await self._close_at_once(handshake.close_reason(SERVER_FULL if has_token else TOO_MANY_HANDSHAKES))
            return
        try:
            caller = await aadmit(
                credentials, handshake.DOOR, rule=HANDSHAKE, tenant_slug=route["tenant"], assistant_slug=self._assistant
            )
        except OUTAGE_ERRORS as exc:
            await self._answer_outage(exc)
            return
        except AccessDenied:
            await self.close()
            return
        self.member = caller.member
        self._member_bucket = member_bucket(tenant_id=self.member.tenant_id, user_id=self.member.user_id)
        self._threads = FollowedThreads(
            self.member, send=self.send_frame, on_failure=lambda: self._close_soon(CLOSE_FAILED)
        )
        self._added = AddedFrames(self.member, send=self.send_frame, on_failure=lambda: self._close_soon(CLOSE_FAILED))
        self._later = LaterRuns(on_failure=lambda: self._close_soon(CLOSE_FAILED))
        self._frames = ThreadFrames(
            caller, self._assistant, threads=self._threads, later=self._later, send=self.send_frame
        )
        # `disconnect` is not called if this fails, so the stack closes here what was opened.
        async with AsyncExitStack() as held:
            try:
                await held.enter_async_context(connection_slot(self.member))
            except TooManyConnections as exc:
                await self._close_at_once(handshake.close_reason("Too many connections.", str(exc)))
                return
            await self._accept()
            self._stay_open(caller, held)
            self._held = held.pop_all()

    async def _close_at_once(self, reason: str) -> None:
        """Accept the handshake and close at once: only an open connection can be closed with a code and a reason."""
        self._is_closing = True
        await self._accept()
        await self.close(CLOSE_TOO_MANY, reason)

    async def _accept(self) -> None:
        offered = self.scope.get("subprotocols") or ()
        await self.accept(handshake.PROTOCOL if handshake.PROTOCOL in offered else None)

    async def _answer_outage(self, exc: Exception) -> None:
        """Answer a handshake with 503 while the database is unavailable; servers that cannot (daphne) answer 500."""
        if "websocket.http.response" not in self.scope.get("extensions", {}):
            raise exc
        failure = log_failure(logger, exc, "A handshake failed")
        headers = [(name.encode(), value.encode()) for name, value in failure.headers.items()]
        await self.base_send({"type": "websocket.http.response.start", "status": failure.status, "headers": headers})
        await self.base_send({"type": "websocket.http.response.body", "body": failure.message.encode()})

    def _stay_open(self, caller: Caller, held: AsyncExitStack) -> None:
        """Follow threads, and close when the caller loses access or the server shuts down, until `held` is closed."""
        held.push_async_callback(self._threads.close)
        held.push_async_callback(self._later.close)
        held.push_async_callback(self._added.close)
        held.callback(shutdown.add_listener(lambda: self._close_soon(CLOSE_RESTART)))
        held.enter_context(while_access_lasts(caller, lambda: self._close_soon(CLOSE_ACCESS_LOST)))

    def _close_soon(self, code: int) -> None:
        self._closing = asyncio.create_task(self._close(code), name="closing")

    async def _close(self, code: int) -> None:
        self._later.keeps_runs = code == CLOSE_RESTART
        if code == CLOSE_ACCESS_LOST:
            self._is_closing = True
            # Otherwise frames that wait for a slow client would still be sent before the close.
            await self._threads.close()
            await self._added.close()
        with suppress(OSError):  # the client has just disconnected
            await self.close(code)

    async def disconnect(self, code: int) -> None:
        await self._held.aclose()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._is_closing:
            return
        if not (self._bucket.take() and self._member_bucket.take()):
            self._is_closing = True
            await self.close(CLOSE_TOO_MANY, handshake.close_reason(TOO_MANY_FRAMES))
            return
        size = len(bytes_data or b"") if text_data is None else len(text_data.encode("utf-8", "replace"))
        if size > MAX_SERVER_FRAME:
            # Servers with this bound have closed the connection before.
            note_large_frame()
            self._is_closing = True
            await self.close(CLOSE_TOO_LARGE, TOO_LARGE)
            return
        if text_data is None:
            await self._protocol_error("binary_frame", "Frames are JSON texts.")
            return
        if size > MAX_FRAME:
            await self._protocol_error("frame_too_large", f"{TOO_LARGE} {where_to_upload(self.member.tenant.slug)}")
            return
        try:
            frame = read_json(text_data)
        except JSONOutOfBounds as exc:
            await self._protocol_error("invalid_json", f"The frame {exc}.")
            return
        except ValueError:
            await self._protocol_error("invalid_json", "The frame is not valid JSON.")
            return
        if not isinstance(frame, dict):
            await self._protocol_error("invalid_frame", "A frame is a JSON object.")
            return
        await self._dispatch(frame)

    async def _dispatch(self, frame: Mapping[str, Any]) -> None:
        is_run = frame.get("type") is None and "threadId" in frame
        kind = RUN if is_run else frame.get("type")
        rule = FRAMES.get(kind) if isinstance(kind, str) else None
        try:
            if rule is not None and not rule.admits(self.member.scopes):
                await self._forbid(kind, rule)
            elif is_run:
                await self._frames.run(frame)
            elif kind == "attach":
                await self._frames.attach(frame)
            elif kind == "cancel":
                await self._cancel(frame)
            elif kind == "feedback":
                await self._frames.rate(frame)
            elif kind == "show":
                await self._frames.show(frame)
            elif kind == "ping":
                await self.send(text_data=bare_frame(Custom("pong", {})))
            elif self._added.has(kind):
                await self._added.handle(frame)
            else:
                known = ", ".join(kind for kind in FRAMES if kind != RUN)
                await self._protocol_error("unknown_frame", f"Known frames: a {RUN}, {known}.")
        except Refused as exc:
            await self._refuse(frame, exc)
        except Exception as exc:
            failure = log_failure(logger, exc, "A frame of tenant %s failed", self.member.tenant_id)
            await self._refuse(frame, failure.refusal)

    async def _forbid(self, kind: object, rule: Rule) -> None:
        sentence = f"This key has no {rule} scope."
        if kind == RUN:
            raise Refused("invalid_input", sentence)
        # Not a RUN_ERROR, which would end the run for this connection, and the run goes on.
        await self._protocol_error("forbidden", sentence)

    async def _cancel(self, frame: Mapping[str, Any]) -> None:
        run_id = parse_id(frame.get("runId"), "runId")
        await get_runs().cancel(member=self.member, run_id=run_id)

    async def _refuse(self, frame: Mapping[str, Any], refusal: Refused) -> None:
        await self.send(text_data=refusal_frame(frame, refusal))

    async def _protocol_error(self, code: str, reason: str) -> None:
        await self.send(text_data=protocol_error(code, reason))
