"""OpenAI's Responses API: runs that their callers start, follow, continue, cancel and delete by an id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any

import msgspec
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from assistant.api.base import REPLAYED, claim_request
from assistant.api.event_stream import stream_slot
from assistant.api.histories import history_body_of, with_whole
from assistant.api.request_end import at_request_end
from assistant.contrib.openai_api.api.endpoint import endpoint
from assistant.contrib.openai_api.api.following import (
    KEEP_ALIVE,
    Pauses,
    as_stream,
    entries_of,
    followed,
    in_background,
    settle,
)
from assistant.contrib.openai_api.api.lists import number_in, page_of, query_of
from assistant.contrib.openai_api.api.new_response import new_response
from assistant.contrib.openai_api.api.response_events import PRELUDE, Part, ResponseEvents
from assistant.contrib.openai_api.api.shapes import CompletionFailed, error
from assistant.contrib.openai_api.api.views import no_such_model
from assistant.contrib.openai_api.api.whole_response import events_of
from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.contrib.openai_api.services.responses.request import ResponseRequest, parse_response
from assistant.contrib.openai_api.services.responses.stored import (
    ResponseBusy,
    body_of,
    delete_response,
    echo_of,
    find_response,
    input_items,
    response_body,
    writer_of,
)
from assistant.models import Run
from assistant.services.assistants.configuration import active_assistants
from assistant.services.db.threads import in_database
from assistant.services.run_key import key_of
from assistant.services.runs.idempotency import Claim, fingerprint
from assistant.services.runs.manager import get_runs
from assistant.services.tenancy.authentication import Caller

# How long a request to cancel waits for the run to end.
CANCEL_SECONDS = 5.0
# How often it looks whether a run of another process has ended.
LOOK_SECONDS = 0.1
encode = msgspec.json.Encoder().encode


async def _create(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Start a response, and return it as one body, as a stream, or, in the background, before it is complete."""
    body = await history_body_of(request, with_whole("input"))
    wanted = await body.parsed(parse_response)
    known = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    if wanted.model not in {one.slug for one in known}:
        return no_such_model(wanted.model)
    key = request.headers.get("Idempotency-Key")
    new = await in_database(
        new_response, caller.member, wanted, "" if key is None else _mark(request, caller, body.mark, key)
    )
    claimed = await in_database(claim_request, caller.member, request, body.mark, new.id)
    if claimed is not None and claimed.status is not None:
        return _replayed(claimed, wanted)
    collector, open_run = new.collector(), partial(new.open_run, caller.member)
    if wanted.is_background and not wanted.is_streamed:
        return JsonResponse(await _in_background(caller, wanted, new.id, open_run, claimed))
    parts = followed(caller, open_run, collector, claimed=claimed, outlives=wanted.is_background)
    if not wanted.is_streamed:
        async for _ in parts:
            pass
        return JsonResponse(collector.body)
    at_request_end(parts.aclose)
    # Wait for the first part of the answer for a moment, so that an early failure can still become an HTTP status.
    first = [part async for part in _first(parts, until=() if wanted.is_background else PRELUDE)]
    return as_stream(_stream(first, parts, collector))


def _mark(request: HttpRequest, caller: Caller, body: Mapping[str, Any], key: str) -> str:
    """Return what is the same for each repetition of a request with an `Idempotency-Key`, and for no other."""
    mark = fingerprint(method="POST", path=request.path, body=body)
    return f"{caller.member.tenant_id} {caller.member.user_id} {key} {mark}"


async def _in_background(
    caller: Caller, wanted: ResponseRequest, response: str, open_run: Callable[[], Any], claimed: Claim | None
) -> dict[str, Any]:
    """Start a response, and return it as it is then."""
    outcome: tuple[int, Mapping[str, Any]] | None = None
    try:
        opened = await open_run()
        status = "queued" if opened.setup is not None and opened.setup.queued is not None else "in_progress"
        created = int(opened.key.began_at.timestamp())
        started = body_of(response, wanted.echo, created_at=created, status=status, output=[])
        outcome = 200, started
        return started
    finally:
        if claimed is not None:
            await asyncio.shield(in_background(in_database(settle, caller.member, claimed, outcome)))


async def _first(parts: AsyncGenerator[Part | None], until: Iterable[str]) -> AsyncIterator[Part]:
    """Yield events up to the first that is of no kind in `until`, or to the first pause."""
    async for part in parts:
        if part is None:
            return
        yield part
        if part["type"] not in until:
            return


async def _stream(
    first: list[Part], rest: AsyncGenerator[Part | None], collector: ResponseEvents
) -> AsyncIterator[str]:
    try:
        async with aclosing(rest):
            for part in first:
                yield event_of(part)
            async for following in rest:
                yield KEEP_ALIVE if following is None else event_of(following)
    except CompletionFailed as exc:
        yield event_of(collector.failed(exc))
    yield "data: [DONE]\n\n"


def event_of(part: Part) -> str:
    """Return an event of the stream as a server-sent event."""
    return f"event: {part['type']}\ndata: {encode(part).decode()}\n\n"


def _replayed(claimed: Claim, wanted: ResponseRequest) -> HttpResponseBase:
    """Return the response that the first request got, or the error that its run ended with."""
    status, body = claimed.status or 200, claimed.body
    if status >= 400:
        return JsonResponse(body, status=status, headers={REPLAYED: "true", "x-should-retry": "false"})
    if not wanted.is_streamed:
        return JsonResponse(body, headers={REPLAYED: "true"})

    async def events() -> AsyncIterator[str]:
        for part in events_of(body):
            yield event_of(part)
        yield "data: [DONE]\n\n"

    return as_stream(events(), **{REPLAYED: "true"})


async def _retrieve(request: HttpRequest, caller: Caller, response: str) -> HttpResponseBase:
    """Return a stored response, or its events after a number."""
    query = query_of(request, {"stream", "starting_after", "include", "include[]", "include_obfuscation"})
    run = await in_database(find_response, member=caller.member, response=response)
    if run is None:
        return _no_such_response(response)
    if query.get("stream", "false").lower() != "true":
        if "starting_after" in query:
            raise InvalidRequest("starting_after", "is only allowed when stream is true.")
        return JsonResponse(await in_database(response_body, caller.member, run))
    after = number_in(query, "starting_after", least=0, most=2**31) if "starting_after" in query else -1
    async with AsyncExitStack() as slot:
        await slot.enter_async_context(stream_slot(caller.member))
        kept = slot.pop_all()
    events = _events_after(caller, run, after, kept)
    at_request_end(kept.aclose)
    at_request_end(events.aclose)
    return as_stream(events)


async def _events_after(caller: Caller, run: Run, after: int, slot: AsyncExitStack) -> AsyncGenerator[str]:
    """Yield a response's events after number `after`, to the last one, in the connection slot."""
    ended_at = int(run.ended_at.timestamp()) if run.ended_at else None
    collector = ResponseEvents(run.run_id, echo_of(run), writer_of(run), ended_at)
    key = key_of(run, "")
    collector.begin_at(key)
    pauses = Pauses()
    async with slot:
        try:
            async with aclosing(entries_of(caller, key, collector)) as entries:
                async for entry in entries:
                    if entry is not None:
                        if collector.lacks_events(entry) and entry.is_end:
                            collector.skip_to(after)
                        for part in collector.take(entry):
                            if part["sequence_number"] > after:
                                pauses.sent()
                                yield event_of(part)
                    if pauses.is_due():
                        yield KEEP_ALIVE
        except CompletionFailed as exc:
            yield event_of(collector.failed(exc))
    yield "data: [DONE]\n\n"


async def _delete(request: HttpRequest, caller: Caller, response: str) -> HttpResponseBase:
    """Delete a stored response, with its messages unless they belong to a conversation."""
    run = await in_database(find_response, member=caller.member, response=response)
    if run is None:
        return _no_such_response(response)
    try:
        await in_database(delete_response, run=run)
    except ResponseBusy:
        return error(409, "The response is still being answered. Cancel it first.", code="response_busy")
    return JsonResponse({"id": response, "object": "response", "deleted": True})


async def _cancel(request: HttpRequest, caller: Caller, response: str) -> HttpResponseBase:
    """Stop a response, and return it. One that has ended stays as it is."""
    run = await in_database(find_response, member=caller.member, response=response)
    if run is None:
        return _no_such_response(response)
    if run.is_active:
        await get_runs().cancel(member=caller.member, run_id=response)
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await get_runs().ended(pk=run.pk)
                # It may run in another process, which ends it and stores what it had said.
                while (now := await in_database(find_response, member=caller.member, response=response)) is not None:
                    run = now
                    if not run.is_active:
                        break
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            pass
    return JsonResponse(await in_database(response_body, caller.member, run))


async def _input_items(request: HttpRequest, caller: Caller, response: str) -> HttpResponseBase:
    """List the items of a response's input, the latest first."""
    query = query_of(request, {"after", "include", "include[]", "limit", "order"})
    run = await in_database(find_response, member=caller.member, response=response)
    if run is None:
        return _no_such_response(response)
    return JsonResponse(page_of(await in_database(input_items, run), query))


def _no_such_response(response: str) -> JsonResponse:
    return error(404, f"There is no response with the id {response[:200]!r}.", code="not_found", param="response_id")


responses = endpoint("responses", {"POST": _create})
one_response = endpoint("responses/<str:response>", {"GET": _retrieve, "DELETE": _delete})
cancel = endpoint("responses/<str:response>/cancel", {"POST": _cancel})
items = endpoint("responses/<str:response>/input_items", {"GET": _input_items})
