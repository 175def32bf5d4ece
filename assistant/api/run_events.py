"""AG-UI over HTTP: a run's events as server-sent events, resumable by their position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import REPLAYED, claim_request, settle, validated_query
from assistant.api.cross_origin import CrossOriginView
from assistant.api.event_stream import RunReader, stream_slot
from assistant.api.histories import history_body_of, with_skimmed
from assistant.api.request_end import at_request_end
from assistant.api.serializers import EventsQuery
from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.services.assistants.configuration import find_assistant
from assistant.services.callers.connections import waiting_input
from assistant.services.connections import shutdown
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.eventlog.frames import for_earlier_clients, refusal_frame, refused_start, with_thread
from assistant.services.run_key import RunKey
from assistant.services.runs.busy_threads import stop_soon
from assistant.services.runs.input.ids import parse_id
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.busy_thread import ThreadBusy
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.reading.thread_snapshot import find_run, run_ending
from assistant.services.runs.run_input import RunInput, parse_input

# Of an event's number in its run.
MAX_NUMBER_DIGITS = 9
# A comment is sent after this long without an event, so that proxies do not close the stream.
KEEP_ALIVE_SECONDS = 15
WAITING = ": This conversation is still being answered.\n\n"
RESTARTING = ": The server restarts: resume after the last event.\n\n"


class EventStream(CrossOriginView):
    """A view that answers with a run's events."""

    def stream(self, events: AsyncGenerator[str], slot: AsyncExitStack) -> StreamingHttpResponse:
        """Return a response that streams `events`.

        It holds the connection slot in `slot` until it ends, or until the request ends if it is never read.
        """
        kept = slot.pop_all()
        held = _holding(events, kept)
        at_request_end(kept.aclose)
        at_request_end(held.aclose)
        return _as_events(held)


class StartRun(EventStream):
    """Start a run from a `RunAgentInput`, or join the one with its id."""

    async def post(self, request: Request, assistant: str) -> HttpResponseBase:
        row = await in_database(find_assistant, tenant_id=self.member.tenant_id, slug=assistant)
        if row is None or self.member.assistant_id not in (None, row.pk):
            raise not_found()
        after = _last_seq(request)
        sent = await history_body_of(request._request, with_skimmed("messages"))
        body = sent.values
        is_again = False
        async with AsyncExitStack() as slot:
            await slot.enter_async_context(stream_slot(self.member))
            try:
                given = await sent.parsed(parse_input)
                opened, is_again = await self._begin(request, assistant, given, sent.mark)
            except ThreadBusy as busy:
                if busy.when_busy is WhenBusy.REFUSE:
                    return _as_events(_refused(body, busy))
                answer = self.stream(self._events_when_free(busy, assistant, given, body), slot)
            except Refused as refusal:
                return _as_events(_refused(body, refusal))
            else:
                answer = self.stream(self._events_of(opened, given, after), slot)
        if is_again:
            answer[REPLAYED] = "true"
        await _collect_under_wsgi(request, answer)
        return answer

    async def _begin(
        self, request: Request, assistant: str, given: RunInput, mark: Mapping[str, Any]
    ) -> tuple[OpenedRun, bool]:
        """Return the run of an input, and whether the `Idempotency-Key` was sent before. Raises `Refused`."""
        claimed = await in_database(claim_request, self.member, request._request, mark)
        is_first = claimed is not None and claimed.status is None
        begun: Response | None = None
        try:
            opened = await get_runs().open(
                member=self.member, assistant_slug=assistant, given=given, when_busy=WhenBusy.REPLACE
            )
            begun = Response()
        finally:
            if claimed is not None and is_first:
                # No body is stored: the same request sent again joins the run by its id.
                await in_database(settle, self, claimed, begun)
        return opened, claimed is not None and not is_first

    def _events_of(self, opened: OpenedRun, given: RunInput, after: int) -> AsyncGenerator[str]:
        is_stopped = opened.setup is not None and opened.on_disconnect is OnDisconnect.CANCEL
        reader = RunReader(self.caller)
        thread = None if given.thread == opened.key.client_thread else given.thread
        is_earlier = not given.protocol_version
        return _events(reader, opened.key, after, is_earlier=is_earlier, is_stopped=is_stopped, thread=thread)

    async def _events_when_free(
        self, busy: ThreadBusy, assistant: str, given: RunInput, body: dict[str, Any]
    ) -> AsyncGenerator[str]:
        """Yield the events of a run that waits for its thread, with comments until it begins."""
        waiting = waiting_input(busy, self.caller, assistant_slug=assistant, given=given)
        opening, is_over = asyncio.create_task(waiting.opened(), name="open-when-free"), False
        try:
            while not (await asyncio.wait({opening}, timeout=KEEP_ALIVE_SECONDS))[0]:
                yield WAITING
            is_over, opened = True, opening.result()
        except Refused as refusal:
            async for part in _refused(body, refusal):
                yield part
            return
        finally:
            if not is_over:
                # Not when the server ends the stream: its runs go on.
                if not shutdown.must_end_streams():
                    waiting.leave()
                opening.cancel()
        if opened is None:  # the caller has lost access
            return
        async with aclosing(self._events_of(opened, given, 0)) as events:
            async for part in events:
                yield part


class RunEvents(EventStream):
    """Resume a run's events."""

    async def get(self, request: Request, run_id: str) -> HttpResponseBase:
        version, after = validated_query(EventsQuery, request)["protocolVersion"], _last_seq(request)
        key = await in_database(find_run, member=self.member, run_id=parse_id(run_id, "runId"))
        if key is None:
            raise not_found()
        ending = await in_database(run_ending, key=key)
        if ending is not None and after >= ending[0]:
            return Response(status=204)
        async with AsyncExitStack() as slot:
            await slot.enter_async_context(stream_slot(self.member))
            answer = self.stream(_events(RunReader(self.caller), key, after, is_earlier=not version), slot)
        await _collect_under_wsgi(request, answer)
        return answer


async def _holding(events: AsyncGenerator[str], slot: AsyncExitStack) -> AsyncGenerator[str]:
    """Yield `events`, and then release `slot`."""
    async with slot, aclosing(events):
        async for part in events:
            yield part


async def _events(
    reader: RunReader,
    key: RunKey,
    after: int,
    *,
    is_earlier: bool,
    is_stopped: bool = False,
    thread: str | None = None,
) -> AsyncGenerator[str]:
    """Yield the run's events after number `after` as server-sent events.

    Ends early if the client disconnects, the caller loses access or the server shuts down; the run continues.

    Args:
        is_earlier: the client named no protocol version.
        is_stopped: whether the run is stopped if the client disconnects.
        thread: the client's threadId, if the thread was begun under another one.
    """
    idle, is_lost = 0, True
    try:
        async with aclosing(reader.entries(key, after, repaints=True)) as entries:
            async for entry in entries:
                if shutdown.must_end_streams():
                    is_lost = False
                    yield RESTARTING
                    return
                idle = 0 if entry else idle + 1
                if entry:
                    is_lost = not entry.is_end
                    frame = entry.frame if thread is None else with_thread(entry.frame, thread)
                    frame = for_earlier_clients(frame) if is_earlier else frame
                    number = f"id: {entry.seq}\n" if entry.seq else ""
                    yield f"{number}data: {frame}\n\n"
                elif idle % KEEP_ALIVE_SECONDS == 0:
                    yield ": keep-alive\n\n"
        is_lost = False
    finally:
        if is_lost and is_stopped:
            stop_soon(key)


def _last_seq(request: Request) -> int:
    """Return the number in `Last-Event-ID`, 0 without one. Raises `HttpRefusal` if it cannot be an event's."""
    given = request.headers.get("Last-Event-ID", "") or "0"
    if given.isascii() and given.isdigit() and len(given) <= MAX_NUMBER_DIGITS:
        return int(given)
    sentence = "Last-Event-ID must be the number of an event."
    raise HttpRefusal(400, "invalid_input", sentence, {"Last-Event-ID": [sentence]})


def _as_events(events: AsyncIterator[str]) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(events, content_type="text/event-stream")
    answer["Cache-Control"] = "no-store"
    answer["X-Accel-Buffering"] = "no"
    return answer


async def _collect_under_wsgi(request: Request, answer: StreamingHttpResponse) -> None:
    """Under WSGI, collect the whole stream first: the event loop with the run ends when the view returns."""
    if isinstance(request._request, WSGIRequest):
        answer.streaming_content = [part async for part in answer]


async def _refused(body: dict[str, Any], exc: Refused) -> AsyncIterator[str]:
    yield f"id: 1\ndata: {refused_start(body)}\n\n"
    yield f"id: 2\ndata: {refusal_frame(body, exc, 2)}\n\n"
