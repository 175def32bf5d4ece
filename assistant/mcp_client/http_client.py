"""An HTTP client for the SDK that reads every answer before it.

The SDK drops an answer that it cannot read, with its words, and ends the session of all calls for the refusal of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, RequestId

from assistant.mcp_client.error_mapping import failure_data, failure_of
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.last_words import read_beginning, without_tags
from assistant.mcp_client.unparsed_answers import is_error, mended_answer, mended_event, unreadable
from assistant.toolkit.bounded_json import load_json

MAX_ANSWER_BYTES = 4 * 2**20
# Until these are answered there is no session, and no other call in it.
_OPENING = frozenset({"initialize", "server/discover"})
# The SDK reads these from a session that the server has dropped, and may send the call again.
_NOT_FOUND = 404
# Longer answers are parsed in a thread.
_SHORT = 65_536


class AnswerClient(httpx2.AsyncClient):
    """A client whose answers to requests of JSON-RPC can all be read by the SDK.

    What is no message becomes an error with its words, and a refusal or a lost connection the failure of its own
    request. Raises as other clients do while a session is opened, and for what is no request of JSON-RPC.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        sent = _request_of(request)
        if sent is None:
            return await super().send(request, **options)
        if sent["method"] in _OPENING:
            response = await super().send(request, **options)
            is_refused = _is_refusal(response.status_code)
            # Of the first of both the SDK reads an unknown status as "older than that", and tries the second.
            if is_refused or (response.status_code >= 400 and sent["method"] == "initialize"):
                await read_beginning(response)
                if is_refused or not is_error(response.content):
                    response.raise_for_status()
            return response
        request_id = sent["id"]
        try:
            response = await super().send(request, **options)
            return await _readable(response, request_id)
        except Exception as exc:
            return _response(request, _text(_error_of(failure_of(exc), request_id)))


def _request_of(request: httpx2.Request) -> dict[str, Any] | None:
    """Return the request of JSON-RPC that is posted; None if it is something else."""
    if request.method != "POST":
        return None
    message = load_json(request.content)
    return message if isinstance(message, dict) and "id" in message and "method" in message else None


def _is_refusal(status: int) -> bool:
    return status in (401, 403, 408, 429) or status >= 500


async def _readable(response: httpx2.Response, request_id: RequestId) -> httpx2.Response:
    """Return a response that the SDK can read. Raises `httpx2.HTTPStatusError` for a refusal."""
    status = response.status_code
    content_type = response.headers.get("content-type", "").lower()
    if response.is_success and content_type.startswith("text/event-stream"):
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(
            status, headers=headers, stream=_ReadableEvents(response, request_id), request=response.request
        )
    if status == 202 or response.is_redirect or status == _NOT_FOUND:
        return response
    if status >= 400:
        await read_beginning(response)
        if _is_refusal(status) or not is_error(response.content):
            response.raise_for_status()
        return response
    text = (await response.aread()).decode("utf-8", "replace")
    if "html" in content_type:
        text = without_tags(text)
    answer = await _in_thread_if_long(mended_answer, text, request_id)
    if answer is not None:
        return _response(response.request, _text(answer))
    return response if content_type.startswith("application/json") else _response(response.request, text)


class _ReadableEvents(httpx2.AsyncByteStream):
    """The events of an answer; those that are no message are mended, or left out.

    If no other event answers the request, and none can follow on another stream, the last one left out is the answer.
    """

    def __init__(self, response: httpx2.Response, request_id: RequestId) -> None:
        self._response = response
        self._request_id = request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left_out = ""
        is_resumable = False
        async for event in httpx2.EventSource(self._response, max_event_size=MAX_ANSWER_BYTES):
            data = event.data
            if event.event == "message" and data:
                mended = await _in_thread_if_long(mended_event, data, self._request_id)
                if mended is None:
                    left_out = data
                data = mended or ""
            is_resumable = is_resumable or bool(event.id)
            if data or event.id or event.retry is not None:
                yield _encoded(event, data)
        if left_out and not is_resumable:
            yield _encoded(httpx2.ServerSentEvent(), _text(unreadable(self._request_id, left_out)))

    async def aclose(self) -> None:
        await self._response.aclose()


def _encoded(event: httpx2.ServerSentEvent, data: str) -> bytes:
    lines = [f"event: {event.event}", *(f"data: {line}" for line in data.split("\n"))]
    if event.id:
        lines.append(f"id: {event.id}")
    if event.retry is not None:
        lines.append(f"retry: {event.retry}")
    return ("\n".join(lines) + "\n\n").encode()


async def _in_thread_if_long(read: Any, text: str, request_id: RequestId) -> Any:
    return read(text, request_id) if len(text) <= _SHORT else await asyncio.to_thread(read, text, request_id)


def _error_of(failure: RemoteFailure, request_id: RequestId) -> JSONRPCError:
    error = ErrorData(code=INTERNAL_ERROR, message=failure.detail, data=failure_data(failure))
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _text(message: JSONRPCMessage) -> str:
    return message.model_dump_json(by_alias=True, exclude_unset=True)


def _response(request: httpx2.Request, message: str) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.Response(200, headers=headers, content=message.encode(), request=request)
