"""Asks clients of protocols before 2026-07-28 for input; their requests may reach different processes.

The session id that such a client gets is a signed text of what it declared when it initialised, so that no process has
to remember it. A question is written to the response stream of the request that it belongs to. The client sends the
answer in a request of its own; if that reaches another process, it is passed on by the event log's control messages.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.core import signing
from mcp_types import ClientCapabilities
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistant.contrib.mcp_server.sessions import HEADER
from assistant.services.eventlog.control_messages import on_control_message
from assistant.services.runs.manager import get_runs

# A client initialises again after this time, which it does by itself when its session is unknown.
SESSION_SECONDS = 7 * 24 * 3600
# How long a question waits for its answer.
QUESTION_SECONDS = 600.0
# Questions that wait, of one key and in one process. Each holds a request open.
MAX_QUESTIONS, MAX_QUESTIONS_TOGETHER = 20, 2_000
# What clients declare, and what they answer, is smaller. Larger bodies are left to the SDK.
MAX_SMALL_BODY = 64 * 1024
_SALT = "assistant.mcp.session"
_PREFIX = "c-"
_CONTROL = "mcp-answer"
_CLIENT = "assistant.mcp.older_client"
# The capabilities that are read from a declaration, with the keys that matter.
_DECLARED = {"elicitation": ("form", "url"), "sampling": (), "roots": ()}

_QUESTION = re.compile(r"q-[\w-]{24}")
_waiting: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
_asked: Counter[str] = Counter()


class UnknownSession(Exception):
    """The session id was not made for this caller, or is too old."""


class TooManyQuestions(Exception):
    """`MAX_QUESTIONS` of the same key wait already, or `MAX_QUESTIONS_TOGETHER` in this process."""


class OlderClient:
    """A client during one request: what it declared, and how it is asked on the request's stream."""

    def __init__(self, principal: str, capabilities: ClientCapabilities, send: Send) -> None:
        self.capabilities = capabilities
        self._principal = principal
        self._send = send
        self._streams: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def send(self, message: Message) -> None:
        """Send a part of the response, and notice whether it is a stream."""
        await self._send(message)
        if message["type"] == "http.response.start" and not self._streams.done():
            kind = dict(message["headers"]).get(b"content-type", b"")
            self._streams.set_result(kind.startswith(b"text/event-stream"))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the client's response to a request, with its `result` or `error`.

        Raises:
            TimeoutError: there is no stream to ask on, or no answer within `QUESTION_SECONDS`.
            TooManyQuestions: as many as are allowed wait already.
        """
        if _asked[self._principal] >= MAX_QUESTIONS or len(_waiting) >= MAX_QUESTIONS_TOGETHER:
            raise TooManyQuestions
        await get_runs().start()  # which listens to the other processes
        name = f"q-{secrets.token_urlsafe(18)}"
        key = _key(self._principal, name)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        _waiting[key] = answer
        _asked[self._principal] += 1
        try:
            async with asyncio.timeout(QUESTION_SECONDS):
                if not await asyncio.shield(self._streams):
                    raise TimeoutError
                request = {"jsonrpc": "2.0", "id": name, "method": method, "params": params}
                frame = f"event: message\ndata: {json.dumps(request)}\n\n".encode()
                await self._send({"type": "http.response.body", "body": frame, "more_body": True})
                return await answer
        finally:
            del _waiting[key]
            _asked[self._principal] -= 1
            if not _asked[self._principal]:
                del _asked[self._principal]


def older_client(scope: Mapping[str, Any]) -> OlderClient | None:
    """Return the client that `serve` put into the scope of a request, or None."""
    found: OlderClient | None = scope.get(_CLIENT)
    return found


def is_own_session(session_id: str) -> bool:
    """Return whether a session id is one of those made here, and not by the SDK."""
    return session_id.startswith(_PREFIX)


async def serve(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    message: Mapping[str, Any],
    principal: str,
    session_id: str,
) -> None:
    """Answer a request of an older client with the SDK's application, which keeps no sessions.

    Args:
        message: the request's body from `read_small`.
        principal: the member and key that send the request.
        session_id: the request's, or "".
    """
    try:
        capabilities = _declared(session_id, principal) if is_own_session(session_id) else ClientCapabilities()
    except UnknownSession:
        # By the specification the client then initialises again.
        await JSONResponse({"code": "not_found", "message": "Session not found."}, 404)(scope, receive, send)
        return
    if is_own_session(session_id) and _is_answer(message):
        await _take(principal, message)
        await Response(status_code=202)(scope, receive, send)
        return
    if message.get("method") == "initialize":
        opened = _opened(principal, message)

        async def send_with_session(part: Message) -> None:
            if part["type"] == "http.response.start" and part["status"] == 200:
                part = {**part, "headers": [*part["headers"], (HEADER.encode(), opened.encode())]}
            await send(part)

        await app(scope, receive, send_with_session)
        return
    client = OlderClient(principal, capabilities, send)
    await app({**scope, _CLIENT: client}, receive, client.send)


async def read_small(receive: Receive) -> tuple[Receive, Mapping[str, Any]]:
    """Return a `receive` that repeats what was read, and the body as JSON; {} if it is long, broken or no object."""
    read: list[Message] = []
    size = 0
    while not read or (read[-1].get("more_body") and size <= MAX_SMALL_BODY):
        read.append(await receive())
        size += len(read[-1].get("body", b""))

    async def again() -> Message:
        return read.pop(0) if read else await receive()

    if read[-1].get("more_body") or size > MAX_SMALL_BODY:
        return again, {}
    try:
        message = json.loads(b"".join(one.get("body", b"") for one in read))
    except (ValueError, RecursionError):
        return again, {}
    return again, message if isinstance(message, dict) else {}


def _opened(principal: str, message: Mapping[str, Any]) -> str:
    params = message.get("params")
    given = params.get("capabilities") if isinstance(params, dict) else None
    declared: dict[str, dict[str, Any]] = {
        name: {key: {} for key in keys if isinstance(given[name], dict) and given[name].get(key) is not None}
        for name, keys in _DECLARED.items()
        if isinstance(given, dict) and given.get(name) is not None
    }
    return _PREFIX + signing.dumps([principal, declared], salt=_SALT, compress=True)


def _declared(session_id: str, principal: str) -> ClientCapabilities:
    try:
        owner, declared = signing.loads(session_id.removeprefix(_PREFIX), salt=_SALT, max_age=SESSION_SECONDS)
        capabilities = ClientCapabilities.model_validate(declared)
    except (signing.BadSignature, ValueError, ValidationError):
        raise UnknownSession from None
    if owner != principal:
        raise UnknownSession
    return capabilities


def _is_answer(message: Mapping[str, Any]) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


def _key(principal: str, name: str) -> str:
    return f"{principal} {name}"


async def _take(principal: str, message: Mapping[str, Any]) -> None:
    if not isinstance(message.get("id"), str) or not _QUESTION.fullmatch(message["id"]):
        return
    key = _key(principal, message["id"])
    answer = {name: message[name] for name in ("result", "error") if name in message}
    if not _answered(key, answer):
        await get_runs().log.publish_control(f"{_CONTROL} {json.dumps([key, answer])}")


def _answered(key: str, answer: Mapping[str, Any]) -> bool:
    future = _waiting.get(key)
    if future is not None and not future.done():
        future.set_result(answer)
    return future is not None


@on_control_message(_CONTROL)
def _on_message(rest: str) -> None:
    key, answer = json.loads(rest)
    _answered(key, answer)
