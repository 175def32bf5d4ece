"""The OpenAI-compatible API: a tenant's assistants as models. Prompt, tools and limits are applied on the server.

The caller sends the history with each request. Disconnecting cancels the run, because its answer could not be fetched
later, unless the request has an `Idempotency-Key`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from assistant.api.base import REPLAYED, claim_request
from assistant.api.histories import history_body_of, with_whole
from assistant.api.request_end import at_request_end
from assistant.contrib.openai_api.api.endpoint import endpoint
from assistant.contrib.openai_api.api.following import KEEP_ALIVE, as_stream, followed
from assistant.contrib.openai_api.api.shapes import Answer, CompletionFailed, CompletionHeader, error, model_body
from assistant.contrib.openai_api.services.completion import CompletionRequest, parse_completion
from assistant.contrib.openai_api.services.stateless_runs import StatelessInput, open_stateless
from assistant.services.assistants.configuration import active_assistants
from assistant.services.db.threads import in_database
from assistant.services.runs.idempotency import Claim, fingerprint
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member

RUN_ID_NAMESPACE = uuid.UUID("0b7f3a54-52a4-4f0e-8c55-7c6f4c1de0a3")


async def _models(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """List the tenant's active assistants as models."""
    found = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    return JsonResponse({"object": "list", "data": [model_body(one, caller.member.tenant.slug) for one in found]})


async def _model(request: HttpRequest, caller: Caller, model: str) -> HttpResponseBase:
    """Return one assistant as a model."""
    found = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    for one in found:
        if one.slug == model:
            return JsonResponse(model_body(one, caller.member.tenant.slug))
    return no_such_model(model)


async def _create(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Run the assistant on the caller's messages, and return the answer as one body or as a stream."""
    body = await history_body_of(request, with_whole("messages"))
    wanted = await body.parsed(parse_completion)
    known = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
    if wanted.model not in {one.slug for one in known}:
        return no_such_model(wanted.model)
    if "Idempotency-Key" in request.headers:
        wanted = replace(wanted, run=_with_stable_ids(caller.member, request, wanted.run, body.mark))
    claimed = await in_database(claim_request, caller.member, request, body.mark, wanted.run.run_id)
    if claimed is not None and claimed.status is not None:
        return _replayed(claimed, wanted)
    header = CompletionHeader.now(run_id=wanted.run.run_id, model=wanted.model)
    answer = Answer(header)
    open_run = partial(open_stateless, member=caller.member, assistant_slug=wanted.model, given=wanted.run)
    texts = followed(caller, open_run, answer, claimed=claimed)
    if not wanted.is_streamed:
        async for _ in texts:
            pass
        return JsonResponse(answer.body)
    at_request_end(texts.aclose)
    # Wait for the first text for a moment, so that an early failure can still become an HTTP status.
    first = await anext(texts, None)
    return as_stream(_stream(header, answer, first, texts, with_usage=wanted.with_usage))


def _with_stable_ids(
    member: Member, request: HttpRequest, run: StatelessInput, body: Mapping[str, Any]
) -> StatelessInput:
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
    return as_stream(_replayed_stream(body, with_usage=wanted.with_usage), **{REPLAYED: "true"})


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
    if told := {name: message[name] for name in ("annotations", "added") if name in message}:
        yield _event(header.chunk(told, **more))
    yield _event(header.chunk({}, choice["finish_reason"], **more))
    if with_usage:
        yield _event(header.part("chat.completion.chunk", [], usage=body["usage"]))
    yield "data: [DONE]\n\n"


def no_such_model(name: str) -> JsonResponse:
    """Answer 404 for a model that is no active assistant of the tenant."""
    return error(404, f"The model {name[:100]!r} does not exist.", code="model_not_found", param="model")


async def _stream(
    header: CompletionHeader, answer: Answer, first: str | None, rest: AsyncGenerator[str | None], *, with_usage: bool
) -> AsyncIterator[str]:
    # With include_usage every chunk has the field `usage`, null in all but the last.
    more: dict[str, Any] = {"usage": None} if with_usage else {}
    yield _event(header.chunk({"role": "assistant", "content": ""}, **more))
    try:
        async with aclosing(rest):
            if first is not None:
                yield _event(header.chunk({"content": first}, **more))
            async for text in rest:
                yield KEEP_ALIVE if text is None else _event(header.chunk({"content": text}, **more))
    except CompletionFailed as exc:
        yield _event(exc.body)
        return
    if answer.tool_calls:
        calls = [{"index": index, **call} for index, call in enumerate(answer.tool_calls)]
        yield _event(header.chunk({"tool_calls": calls}, **more))
    if answer.told:
        yield _event(header.chunk(answer.told, **more))
    yield _event(header.chunk({}, answer.finish_reason, **more))
    if with_usage:
        yield _event(header.part("chat.completion.chunk", [], usage=answer.usage))
    yield "data: [DONE]\n\n"


def _event(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, separators=(',', ':'))}\n\n"


models = endpoint("models", {"GET": _models})
model = endpoint("models/<str:model>", {"GET": _model})
create = endpoint("chat/completions", {"POST": _create})
