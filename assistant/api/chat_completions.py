"""OpenAI-compatible: a tenant's assistants as models, whose prompt, tools and limits are applied on the server.

The caller keeps the history. A caller that goes away stops the run: nobody could fetch its answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from functools import wraps
from typing import Any

from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from assistant.api.bodies import parse_object
from assistant.api.callers import HttpRefusal, bearer_key, key_holder
from assistant.api.openai_shapes import Answer, CompletionFailed, Heading, error, model_body
from assistant.api.visits import Visit
from assistant.services.assistants import active_assistants
from assistant.services.completions import CompletionRequest, InvalidRequest, parse_completion
from assistant.services.database import in_database
from assistant.services.inputs import Refused
from assistant.services.leases import RunKey
from assistant.services.members import Member
from assistant.services.runs import get_runs
from assistant.services.tenancy import enter

logger = logging.getLogger(__name__)

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
_cancelling: set[asyncio.Task[bool]] = set()


def door(method: str, *scopes: str) -> Callable[[View], View]:
    """A view for whoever has a key with one of `scopes`; errors have OpenAI's shape."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def guarded(request: HttpRequest, **values: Any) -> HttpResponseBase:
            if request.method != method:
                return error(405, f"This address knows only {method}.", code="method_not_allowed")
            try:
                member = await in_database(_caller, request, scopes)
                enter(member.tenant_id)
                return await view(request, member, **values)
            except HttpRefusal as exc:
                return error(exc.status, str(exc), code=exc.code, headers=exc.headers)
            except InvalidRequest as exc:
                return error(400, str(exc), code="invalid_value", param=exc.param)
            except Refused as exc:
                return CompletionFailed(exc.code, str(exc)).response(may_retry=True)
            except CompletionFailed as exc:
                return exc.response()
            except Exception:
                error_id = uuid.uuid4().hex[:12]
                logger.exception("A completion failed [%s]", error_id)
                return error(500, f"Something went wrong on our side (error {error_id}).", code="internal_error")

        return guarded

    return decorate


def _caller(request: HttpRequest, scopes: tuple[str, ...]) -> Member:
    key = bearer_key(request)
    if key is None:
        raise HttpRefusal(401, "invalid_api_key", "An API key is needed: Authorization: Bearer <key>.")
    return key_holder(key, scopes)


@door("GET", "chat", "read")
async def models(request: HttpRequest, member: Member) -> HttpResponseBase:
    """The assistants that the key's member may talk to."""
    found = await in_database(active_assistants, tenant_id=member.tenant_id)
    return JsonResponse({"object": "list", "data": [model_body(one, member.tenant.slug) for one in found]})


@door("GET", "chat", "read")
async def model(request: HttpRequest, member: Member, model: str) -> HttpResponseBase:
    """One of them."""
    found = await in_database(active_assistants, tenant_id=member.tenant_id)
    for one in found:
        if one.slug == model:
            return JsonResponse(model_body(one, member.tenant.slug))
    return _no_such_model(model)


@door("POST", "chat")
async def create(request: HttpRequest, member: Member) -> HttpResponseBase:
    """Answer the caller's messages, in one piece or as a stream."""
    wanted = parse_completion(parse_object(request.body))
    known = await in_database(active_assistants, tenant_id=member.tenant_id)
    if wanted.model not in {one.slug for one in known}:
        return _no_such_model(wanted.model)
    heading = Heading.now(run_id=wanted.run.run_id, model=wanted.model)
    texts = _texts(member, wanted, answer := Answer())
    if not wanted.is_streamed:
        async for _ in texts:
            pass
        return JsonResponse(heading.whole(answer))
    # The first words are waited for, so that a provider's failure is still an HTTP status.
    first = await anext(texts, None)
    return StreamingHttpResponse(
        _stream(heading, answer, first, texts, with_usage=wanted.with_usage),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


@csrf_exempt
def nothing_here(request: HttpRequest) -> JsonResponse:
    """An address that this door does not have."""
    return error(404, "There is no such address here.", code="not_found")


def _no_such_model(name: str) -> JsonResponse:
    return error(404, f"The model {name[:100]!r} does not exist.", code="model_not_found", param="model")


async def _texts(member: Member, wanted: CompletionRequest, answer: Answer) -> AsyncGenerator[str]:
    """Run it, and give its text as it comes; whoever stops reading stops the run. Raises `CompletionFailed`."""
    opened = await get_runs().open_stateless(member=member, assistant_slug=wanted.model, given=wanted.run)
    ended = False
    try:
        async with aclosing(Visit(member).entries(opened.key)) as entries:
            async for entry in entries:
                if entry is None:
                    continue
                ended = entry.is_end
                for text in answer.take(entry):
                    yield text
        if not answer.is_whole:
            raise CompletionFailed("interrupted", "The answer broke off.")
    finally:
        if not ended:
            _cancel_soon(member, opened.key)


def _cancel_soon(member: Member, key: RunKey) -> None:
    """Stop a run that nobody waits for; in a task of its own, for this one may be on its way out."""
    task = asyncio.create_task(get_runs().cancel(member=member, run_id=key.run_id), name="cancelling-a-run")
    _cancelling.add(task)
    task.add_done_callback(_cancelling.discard)


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
