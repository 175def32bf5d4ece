"""AG-UI over HTTP: a run's events as server-sent events, resumable by their position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from assistant.api.callers import HttpRefusal, caller_of, not_found
from assistant.services.assistants import find_assistant
from assistant.services.database import in_database
from assistant.services.eventlog import Position, ThreadLog
from assistant.services.frames import refusal_frame
from assistant.services.inputs import Refused, parse_input, parse_run_id, read_json
from assistant.services.leases import RunKey
from assistant.services.pictures import find_run, run_ending
from assistant.services.runs import get_runs

MAX_BODY = 256 * 1024
# A comment now and then keeps proxies from closing a quiet stream.
KEEP_ALIVE_SECONDS = 15.0


@csrf_exempt  # a key needs none; a session's token is checked by caller_of
@require_POST
async def start_run(request: HttpRequest, tenant: str, assistant: str) -> HttpResponse | StreamingHttpResponse:
    """Start a run from a `RunAgentInput`, or join the one with its id, and stream its events."""
    try:
        member = await in_database(caller_of, request, tenant, "chat")
        if await in_database(find_assistant, tenant_id=member.tenant_id, slug=assistant) is None:
            raise not_found()
        body = _parse_body(request.body)
    except HttpRefusal as refusal:
        return refusal.response()
    try:
        opened = await get_runs().open(member=member, assistant_slug=assistant, given=parse_input(body))
    except Refused as refusal_of_run:
        return _stream(_refused(body, refusal_of_run))
    log = await get_runs().log.open(opened.key.thread)
    return _stream(_events(opened.key, log, _last_seq(request)))


@require_GET
async def run_events(request: HttpRequest, tenant: str, run_id: str) -> HttpResponse | StreamingHttpResponse:
    """Go on with a run's events after `Last-Event-ID`, from the start without one."""
    try:
        member = await in_database(caller_of, request, tenant, "read")
        key = await in_database(find_run, member=member, run_id=parse_run_id(run_id))
        if key is None:
            raise not_found()
    except HttpRefusal as refusal:
        return refusal.response()
    except Refused as exc:
        return HttpRefusal(400, exc.code, str(exc)).response()
    log = await get_runs().log.open(key.thread)
    return _stream(_events(key, log, _last_seq(request)))


def _parse_body(body: bytes) -> dict[str, Any]:
    if len(body) > MAX_BODY:
        raise HttpRefusal(413, "invalid_input", f"A body holds at most {MAX_BODY} bytes.")
    try:
        parsed = read_json(body)
    except ValueError:
        raise HttpRefusal(400, "invalid_input", "The body is not valid JSON.") from None
    if not isinstance(parsed, dict):
        raise HttpRefusal(400, "invalid_input", "The body must be a JSON object.")
    return parsed


def _last_seq(request: HttpRequest) -> int:
    given = request.headers.get("Last-Event-ID", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0


def _stream(events: AsyncIterator[str]) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(events, content_type="text/event-stream")
    answer["Cache-Control"] = "no-store"
    answer["X-Accel-Buffering"] = "no"
    return answer


async def _refused(body: dict[str, Any], exc: Refused) -> AsyncIterator[str]:
    run_id, thread = body.get("runId"), body.get("threadId")
    frame = refusal_frame(
        run_id=run_id[:128] if isinstance(run_id, str) else "",
        thread=thread[:128] if isinstance(thread, str) else "",
        code=exc.code,
        message=str(exc),
    )
    yield f"id: 1\ndata: {frame}\n\n"


async def _events(key: RunKey, log: ThreadLog, after: int) -> AsyncIterator[str]:
    """The run's events after number `after`; the client going away ends only this."""
    position = Position(key.number, after)
    with log.watching() as changed:
        while True:
            changed.clear()
            for entry in log.read(position):
                if entry.number != key.number:
                    return
                yield f"id: {entry.seq}\ndata: {entry.frame}\n\n"
                position = entry.position
                if entry.is_end:
                    return
            if not log.holds(Position(key.number, 0)):
                ending = await in_database(run_ending, key=key)
                if ending is not None:
                    # The log is gone, the run is not: its end is told again.
                    yield f"id: {ending[0]}\ndata: {ending[1]}\n\n"
                    return
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield ": keep-alive\n\n"
