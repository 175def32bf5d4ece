"""OpenAI-compatible: a tenant's assistants as models, whose prompt, tools and limits are applied on the server.

The caller keeps the history. A caller that goes away stops the run: nobody could fetch its answer, unless an
`Idempotency-Key` came with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from functools import wraps
from typing import Any

from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from assistant.api.authentication import acaller_of, refusal_of_access
from assistant.api.base import REPLAYED, claim_request
from assistant.api.event_stream import Visit
from assistant.api.openai.shapes import Answer, CompletionFailed, Heading, error, model_body
from assistant.api.parsers import object_of
from assistant.services.assistants.configuration import active_assistants
from assistant.services.callers.doors import Door
from assistant.services.connections import shutdown
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused, note_failure
from assistant.services.eventlog.log import Entry
from assistant.services.runs.idempotency import Claim, KeyReused, fingerprint, keep, release
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening import OpenedRun
from assistant.services.runs.run_result import run_outcome
from assistant.services.runs.stateless_input import CompletionRequest, InvalidRequest, StatelessInput, parse_completion
from assistant.services.tenancy.authentication import AccessDenied, Caller, CredentialKind
from assistant.services.tenancy.members import Member

logger = logging.getLogger(__name__)

OPENAI = Door(frozenset({CredentialKind.API_KEY}))

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
_working: set[asyncio.Task[Any]] = set()
# As long as OpenAI's clients are ready to wait by themselves.
PATIENCE_SECONDS = 60
RESTARTING = "The server restarts, and the answer was not whole yet. Ask again in a moment."
RUNS_BY_KEY = uuid.UUID("0b7f3a54-52a4-4f0e-8c55-7c6f4c1de0a3")


def door(method: str, *scopes: str) -> Callable[[View], View]:
    """A view for whoever has a key with one of `scopes`; errors have OpenAI's shape."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def guarded(request: HttpRequest, **values: Any) -> HttpResponseBase:
            if request.method != method:
                sentence = f"This address knows only {method}."
                return error(405, sentence, code="method_not_allowed", headers={"Allow": method})
            try:
                caller = await acaller_of(request, *scopes, door=OPENAI)
                return await view(request, caller, **values)
            except AccessDenied as exc:
                refusal = refusal_of_access(exc)
                return error(refusal.status, str(refusal), code=refusal.code, headers=refusal.headers)
            except InvalidRequest as exc:
                return error(400, str(exc), code="invalid_value", param=exc.param)
            except KeyReused as exc:
                return error(409, str(exc), code="idempotency_conflict")
            except Refused as exc:
                return _not_opened(exc)
            except CompletionFailed as exc:
                return exc.response()
            except Exception as exc:
                failure = note_failure(logger, exc, "A completion failed")
                return error(failure.status, failure.message, code=failure.code, headers=failure.headers)

        return guarded

    return decorate


def _not_opened(refusal: Refused) -> JsonResponse:
    """OpenAI's clients try again after a short wait; nobody shall who would have to wait for longer."""
    seconds = refusal.retry_after
    may_retry = seconds is None or seconds <= PATIENCE_SECONDS
    answer = CompletionFailed(refusal.code, str(refusal)).response(may_retry=may_retry)
    if seconds is not None:
        answer["Retry-After"] = str(seconds)
    return answer


@door("GET", "chat", "read")
async def models(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The assistants that the key's member may talk to."""
    found = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    return JsonResponse({"object": "list", "data": [model_body(one, caller.member.tenant.slug) for one in found]})


@door("GET", "chat", "read")
async def model(request: HttpRequest, caller: Caller, model: str) -> HttpResponseBase:
    """One of them."""
    found = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    for one in found:
        if one.slug == model:
            return JsonResponse(model_body(one, caller.member.tenant.slug))
    return _no_such_model(model)


@door("POST", "chat")
async def create(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Answer the caller's messages, in one piece or as a stream."""
    body = object_of(request)
    wanted = parse_completion(body)
    known = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    if wanted.model not in {one.slug for one in known}:
        return _no_such_model(wanted.model)
    if "Idempotency-Key" in request.headers:
        wanted = replace(wanted, run=_named(caller.member, request, wanted.run, body))
    claimed = await in_database(claim_request, caller.member, request, body, wanted.run.run_id)
    if claimed is not None and claimed.status is not None:
        return _repeated(claimed, wanted)
    heading = Heading.now(run_id=wanted.run.run_id, model=wanted.model)
    texts = _texts(caller, wanted, answer := Answer(), heading, claimed)
    if not wanted.is_streamed:
        async for _ in texts:
            pass
        return JsonResponse(heading.whole(answer))
    # The first words are waited for, so that a provider's failure is still an HTTP status.
    first = await anext(texts, None)
    return _as_stream(_stream(heading, answer, first, texts, with_usage=wanted.with_usage))


def _as_stream(events: AsyncIterator[str], **headers: str) -> StreamingHttpResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers}
    return StreamingHttpResponse(events, content_type="text/event-stream", headers=headers)


def _named(member: Member, request: HttpRequest, run: StatelessInput, body: dict[str, Any]) -> StatelessInput:
    """The run under ids that are the same for a request that is sent again, so that it is joined and not begun anew."""
    mark = fingerprint(method="POST", path=request.path, body=body)
    name = f"{member.tenant_id} {member.user_id} {request.headers['Idempotency-Key']} {mark}"
    thread_id = uuid.uuid5(RUNS_BY_KEY, name)
    return replace(run, thread_id=thread_id, run_id=f"chatcmpl-{thread_id.hex}")


def _repeated(claimed: Claim, wanted: CompletionRequest) -> HttpResponseBase:
    """The answer that the first request got, be it an error of a run that was begun."""
    status, body = claimed.status or 200, claimed.body
    if status >= 400:
        return JsonResponse(body, status=status, headers={REPLAYED: "true", "x-should-retry": "false"})
    if not wanted.is_streamed:
        return JsonResponse(body, headers={REPLAYED: "true"})
    return _as_stream(_again(body, with_usage=wanted.with_usage), **{REPLAYED: "true"})


async def _again(body: dict[str, Any], *, with_usage: bool) -> AsyncIterator[str]:
    """A whole answer as a stream, its text in one piece."""
    (choice,) = body["choices"]
    message = choice["message"]
    heading = Heading(body["id"], body["model"], body["created"])
    more: dict[str, Any] = {"usage": None} if with_usage else {}
    yield _event(heading.chunk({"role": "assistant", "content": message["content"] or ""}, **more))
    if message.get("tool_calls"):
        calls = [{"index": index, **call} for index, call in enumerate(message["tool_calls"])]
        yield _event(heading.chunk({"tool_calls": calls}, **more))
    yield _event(heading.chunk({}, choice["finish_reason"], **more))
    if with_usage:
        yield _event(heading.part("chat.completion.chunk", [], usage=body["usage"]))
    yield "data: [DONE]\n\n"


@csrf_exempt
def nothing_here(request: HttpRequest) -> JsonResponse:
    """An address that this door does not have."""
    return error(404, "There is no such address here.", code="not_found")


def _no_such_model(name: str) -> JsonResponse:
    return error(404, f"The model {name[:100]!r} does not exist.", code="model_not_found", param="model")


async def _texts(
    caller: Caller, wanted: CompletionRequest, answer: Answer, heading: Heading, claimed: Claim | None
) -> AsyncGenerator[str]:
    """Run it, or join it, and give its text as it comes; what comes of a claimed request is kept.

    Whoever stops reading stops the run, unless it is claimed: then they can come back for it.

    Raises:
        CompletionFailed: the run ended in an error.
    """
    member = caller.member
    kept: tuple[int, dict[str, Any]] | None = None
    try:
        opened = await get_runs().open_stateless(member=member, assistant_slug=wanted.model, given=wanted.run)
        ended, goes_on = False, claimed is not None
        try:
            async with aclosing(_entries(caller, opened, answer)) as entries:
                async for entry in entries:
                    ended = entry.is_end
                    for text in answer.take(entry):
                        yield text
                    if opened.setup is None and answer.text:
                        yield answer.text  # in one piece, for its events were an earlier request's
            goes_on = False
            if not answer.is_whole:
                raise CompletionFailed("interrupted", "The answer broke off.")
        except CompletionFailed as exc:
            kept = (exc.status, exc.body) if ended else None
            raise
        finally:
            # The server's own end is nobody's going away: its runs are given a while.
            if not ended and not goes_on and not shutdown.is_shutting_down():
                _soon(get_runs().cancel(member=member, run_id=opened.key.run_id))
        kept = 200, heading.whole(answer)
    finally:
        if claimed is not None:
            await asyncio.shield(_soon(in_database(_settle, member, claimed, kept)))


async def _entries(caller: Caller, opened: OpenedRun, answer: Answer) -> AsyncGenerator[Entry]:
    """A run's events; of one that was begun by an earlier request the last alone, and its texts as they are stored.

    Raises:
        CompletionFailed: the server restarts, and cannot wait any longer.
    """
    async with aclosing(Visit(caller).entries(opened.key)) as entries:
        async for entry in entries:
            if shutdown.must_end_streams():
                raise CompletionFailed("interrupted", RESTARTING)
            if entry is None or (opened.setup is None and not entry.is_end):
                continue
            if opened.setup is None:
                outcome = await in_database(run_outcome, member=caller.member, key=opened.key)
                answer.recall(outcome.messages)
            yield entry


def _settle(member: Member, claimed: Claim, kept: tuple[int, dict[str, Any]] | None) -> None:
    """What comes of a run that was begun is kept, errors too, for tools may have run; else the key is free again."""
    if kept is None:
        release(member=member, claim=claimed)
    else:
        keep(member=member, claim=claimed, status=kept[0], body=kept[1])


def _soon(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Do something in a task of its own, for this one may be on its way out."""
    task = asyncio.create_task(work, name="after-a-completion")
    _working.add(task)
    task.add_done_callback(_working.discard)
    return task


async def _stream(
    heading: Heading, answer: Answer, first: str | None, rest: AsyncGenerator[str], *, with_usage: bool
) -> AsyncIterator[str]:
    # With include_usage every chunk names the usage, and only the last has any.
    more: dict[str, Any] = {"usage": None} if with_usage else {}
    yield _event(heading.chunk({"role": "assistant", "content": ""}, **more))
    try:
        async with aclosing(rest):
            if first is not None:
                yield _event(heading.chunk({"content": first}, **more))
            async for text in rest:
                yield _event(heading.chunk({"content": text}, **more))
    except CompletionFailed as exc:
        yield _event(exc.body)
        return
    if answer.tool_calls:
        calls = [{"index": index, **call} for index, call in enumerate(answer.tool_calls)]
        yield _event(heading.chunk({"tool_calls": calls}, **more))
    yield _event(heading.chunk({}, answer.finish_reason, **more))
    if with_usage:
        yield _event(heading.part("chat.completion.chunk", [], usage=answer.usage))
    yield "data: [DONE]\n\n"


def _event(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, separators=(',', ':'))}\n\n"
