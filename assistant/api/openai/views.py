"""The OpenAI-compatible API: a tenant's assistants as models. Prompt, tools and limits are applied on the server.

The caller sends the history with each request. Disconnecting cancels the run, because its answer could not be fetched
later, unless the request has an `Idempotency-Key`.
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

from assistant.api.authentication import HttpRefusal, acaller_of, refusal_of_access
from assistant.api.base import REPLAYED, claim_request
from assistant.api.event_stream import RunReader
from assistant.api.openai.shapes import Answer, CompletionFailed, CompletionHeader, error, model_body
from assistant.api.parsers import object_of
from assistant.api.request_end import at_request_end
from assistant.services.assistants.configuration import active_assistants
from assistant.services.callers.doors import Door
from assistant.services.connections import shutdown
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused, log_failure
from assistant.services.eventlog.log import Entry
from assistant.services.limits.runs_at_once import TooManyRuns
from assistant.services.runs.idempotency import Claim, KeyReused, fingerprint, release_claim, store_answer
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.completion import (
    CompletionRequest,
    InvalidRequest,
    StatelessInput,
    parse_completion,
)
from assistant.services.runs.opening.open_stateless_run import discard_unstarted
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.reading.run_result import run_outcome
from assistant.services.tenancy.authentication import AccessDenied, Caller, CredentialKind
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.scopes import OPENAI as OPENAI_RULES

logger = logging.getLogger(__name__)

OPENAI = Door(frozenset({CredentialKind.API_KEY}))
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
_background_tasks: set[asyncio.Task[Any]] = set()
# OpenAI's clients retry by themselves if `Retry-After` is at most this.
MAX_RETRY_SECONDS = 60
RESTARTING = "The server restarts, and the answer was not complete yet. Ask again in a moment."
RUN_ID_NAMESPACE = uuid.UUID("0b7f3a54-52a4-4f0e-8c55-7c6f4c1de0a3")


def endpoint(address: str) -> Callable[[View], View]:
    """Admit callers whose key has the scopes of an address, and answer errors in OpenAI's format."""
    ((method, rule),) = OPENAI_RULES[address].items()

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def wrapped(request: HttpRequest, **values: Any) -> HttpResponseBase:
            if request.method != method:
                return error(405, f"Only {method} is allowed.", code="method_not_allowed", headers={"Allow": method})
            try:
                caller = await acaller_of(request, rule, door=OPENAI)
                return await view(request, caller, **values)
            except AccessDenied as exc:
                refusal = refusal_of_access(exc)
                return error(refusal.status, str(refusal), code=refusal.code, headers=refusal.headers)
            except HttpRefusal as exc:
                return error(exc.status, str(exc), code=exc.code, headers=exc.headers)
            except InvalidRequest as exc:
                return error(400, str(exc), code="invalid_value", param=exc.param)
            except KeyReused as exc:
                return error(409, str(exc), code="idempotency_conflict")
            except Refused as exc:
                return _not_opened(exc)
            except CompletionFailed as exc:
                return exc.response()
            except Exception as exc:
                failure = log_failure(logger, exc, "A completion failed")
                return error(failure.status, failure.message, code=failure.code, headers=failure.headers)

        return wrapped

    return decorate


def _not_opened(refusal: Refused) -> JsonResponse:
    """Answer a refused run. Clients may retry by themselves only if the wait is short."""
    seconds = refusal.retry_after
    if isinstance(refusal, TooManyRuns):
        return CompletionFailed("too_many_requests", str(refusal), retry_after=seconds).response()
    may_retry = seconds is None or seconds <= MAX_RETRY_SECONDS
    answer = CompletionFailed(refusal.code, str(refusal)).response(may_retry=may_retry)
    if seconds is not None:
        answer["Retry-After"] = str(seconds)
    return answer


@endpoint("models")
async def models(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """List the tenant's active assistants as models."""
    found = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    return JsonResponse({"object": "list", "data": [model_body(one, caller.member.tenant.slug) for one in found]})


@endpoint("models/<str:model>")
async def model(request: HttpRequest, caller: Caller, model: str) -> HttpResponseBase:
    """Return one assistant as a model."""
    found = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    for one in found:
        if one.slug == model:
            return JsonResponse(model_body(one, caller.member.tenant.slug))
    return _no_such_model(model)


@endpoint("chat/completions")
async def create(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Run the assistant on the caller's messages, and return the answer as one body or as a stream."""
    body = object_of(request)
    wanted = parse_completion(body)
    known = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    if wanted.model not in {one.slug for one in known}:
        return _no_such_model(wanted.model)
    if "Idempotency-Key" in request.headers:
        wanted = replace(wanted, run=_with_stable_ids(caller.member, request, wanted.run, body))
    claimed = await in_database(claim_request, caller.member, request, body, wanted.run.run_id)
    if claimed is not None and claimed.status is not None:
        return _replayed(claimed, wanted)
    header = CompletionHeader.now(run_id=wanted.run.run_id, model=wanted.model)
    texts = _texts(caller, wanted, answer := Answer(), header, claimed)
    if not wanted.is_streamed:
        async for _ in texts:
            pass
        return JsonResponse(header.completion(answer))
    at_request_end(texts.aclose)
    # Wait for the first text, so that a provider's failure can still become an HTTP status.
    first = await anext(texts, None)
    return _as_stream(_stream(header, answer, first, texts, with_usage=wanted.with_usage))


def _as_stream(events: AsyncIterator[str], **headers: str) -> StreamingHttpResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers}
    return StreamingHttpResponse(events, content_type="text/event-stream", headers=headers)


def _with_stable_ids(member: Member, request: HttpRequest, run: StatelessInput, body: dict[str, Any]) -> StatelessInput:
    """Give the run ids made from the `Idempotency-Key`, so that a repeated request joins the run."""
    mark = fingerprint(method="POST", path=request.path, body=body)
    name = f"{member.tenant_id} {member.user_id} {request.headers['Idempotency-Key']} {mark}"
    thread_id = uuid.uuid5(RUN_ID_NAMESPACE, name)
    return replace(run, thread_id=thread_id, run_id=f"chatcmpl-{thread_id.hex}")


def _replayed(claimed: Claim, wanted: CompletionRequest) -> HttpResponseBase:
    """Return the answer that the first request got, or the error that its run ended with."""
    status, body = claimed.status or 200, claimed.body
    if status >= 400:
        return JsonResponse(body, status=status, headers={REPLAYED: "true", "x-should-retry": "false"})
    if not wanted.is_streamed:
        return JsonResponse(body, headers={REPLAYED: "true"})
    return _as_stream(_replayed_stream(body, with_usage=wanted.with_usage), **{REPLAYED: "true"})


async def _replayed_stream(body: dict[str, Any], *, with_usage: bool) -> AsyncIterator[str]:
    """Yield a complete answer as a stream, with its text in one chunk."""
    (choice,) = body["choices"]
    message = choice["message"]
    header = CompletionHeader(body["id"], body["model"], body["created"])
    more: dict[str, Any] = {"usage": None} if with_usage else {}
    yield _event(header.chunk({"role": "assistant", "content": message["content"] or ""}, **more))
    if message.get("tool_calls"):
        calls = [{"index": index, **call} for index, call in enumerate(message["tool_calls"])]
        yield _event(header.chunk({"tool_calls": calls}, **more))
    yield _event(header.chunk({}, choice["finish_reason"], **more))
    if with_usage:
        yield _event(header.part("chat.completion.chunk", [], usage=body["usage"]))
    yield "data: [DONE]\n\n"


@csrf_exempt
def nothing_here(request: HttpRequest) -> JsonResponse:
    """Answer 404 for an address that this API does not have."""
    return error(404, "There is no such address here.", code="not_found")


def _no_such_model(name: str) -> JsonResponse:
    return error(404, f"The model {name[:100]!r} does not exist.", code="model_not_found", param="model")


async def _texts(
    caller: Caller, wanted: CompletionRequest, answer: Answer, header: CompletionHeader, claimed: Claim | None
) -> AsyncGenerator[str]:
    """Start or join the run, yield its text as it is streamed, and store the outcome of a claimed request.

    Closing the generator cancels the run, unless the request is claimed and can be repeated.

    Raises:
        CompletionFailed: the run ended in an error.
    """
    member = caller.member
    outcome: tuple[int, dict[str, Any]] | None = None
    try:
        opened = await get_runs().open_stateless(member=member, assistant_slug=wanted.model, given=wanted.run)
        ended, keeps_running = False, claimed is not None
        try:
            async with aclosing(_entries(caller, opened, answer)) as entries:
                async for entry in entries:
                    ended = entry.is_end
                    for text in answer.take(entry):
                        yield text
                    if opened.setup is None and answer.text:
                        yield answer.text  # as a whole: an earlier request streamed it
            keeps_running = False
            if not answer.is_complete:
                raise CompletionFailed("interrupted", "The answer broke off.")
        except CompletionFailed as exc:
            outcome = (exc.status, exc.body) if ended and exc.retry_after is None else None
            if answer.was_refused and claimed is not None:
                await asyncio.shield(_in_background(in_database(discard_unstarted, key=opened.key)))
            raise
        finally:
            # At a shutdown runs get time to finish; only a disconnect cancels.
            if not ended and not keeps_running and not shutdown.is_shutting_down():
                _in_background(get_runs().cancel(member=member, run_id=opened.key.run_id))
        outcome = 200, header.completion(answer)
    finally:
        if claimed is not None:
            await asyncio.shield(_in_background(in_database(_settle, member, claimed, outcome)))


async def _entries(caller: Caller, opened: OpenedRun, answer: Answer) -> AsyncGenerator[Entry]:
    """Yield the run's events. If an earlier request started it, load its texts from the database and yield its end.

    Raises:
        CompletionFailed: the server is shutting down.
    """
    async with aclosing(RunReader(caller).entries(opened.key)) as entries:
        async for entry in entries:
            if shutdown.must_end_streams():
                raise CompletionFailed("interrupted", RESTARTING)
            if entry is None or (opened.setup is None and not entry.is_end):
                continue
            if opened.setup is None:
                outcome = await in_database(run_outcome, member=caller.member, key=opened.key)
                answer.load_stored(outcome.messages)
            yield entry


def _settle(member: Member, claimed: Claim, outcome: tuple[int, dict[str, Any]] | None) -> None:
    """Store the outcome of a run that started, also an error, since tools may have run. Otherwise release the key."""
    if outcome is None:
        release_claim(member=member, claim=claimed)
    else:
        store_answer(member=member, claim=claimed, status=outcome[0], body=outcome[1])


def _in_background(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run a coroutine in a new task, because the current one may be cancelled."""
    task = asyncio.create_task(work, name="after-a-completion")
    _background_tasks.add(task)
    task.add_done_callback(_background_tasks.discard)
    return task


async def _stream(
    header: CompletionHeader, answer: Answer, first: str | None, rest: AsyncGenerator[str], *, with_usage: bool
) -> AsyncIterator[str]:
    # With include_usage every chunk has the field `usage`, null in all but the last.
    more: dict[str, Any] = {"usage": None} if with_usage else {}
    yield _event(header.chunk({"role": "assistant", "content": ""}, **more))
    try:
        async with aclosing(rest):
            if first is not None:
                yield _event(header.chunk({"content": first}, **more))
            async for text in rest:
                yield _event(header.chunk({"content": text}, **more))
    except CompletionFailed as exc:
        yield _event(exc.body)
        return
    if answer.tool_calls:
        calls = [{"index": index, **call} for index, call in enumerate(answer.tool_calls)]
        yield _event(header.chunk({"tool_calls": calls}, **more))
    yield _event(header.chunk({}, answer.finish_reason, **more))
    if with_usage:
        yield _event(header.part("chat.completion.chunk", [], usage=answer.usage))
    yield "data: [DONE]\n\n"


def _event(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, separators=(',', ':'))}\n\n"
