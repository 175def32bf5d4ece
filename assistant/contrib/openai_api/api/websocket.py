"""The Responses API over a websocket, as the Open Responses specification has it.

Each `response.create` frame is a request whose answer is streamed as frames, one after another. A response that its
caller does not let be stored can be continued on the same connection.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any

from django.http import JsonResponse

from assistant.api.parsers import check_texts, parse_object
from assistant.contrib.openai_api.api.endpoint import OPENAI, answer_of
from assistant.contrib.openai_api.api.following import followed
from assistant.contrib.openai_api.api.new_response import new_response
from assistant.contrib.openai_api.api.response_events import Part
from assistant.contrib.openai_api.api.responses import encode
from assistant.contrib.openai_api.api.shapes import CompletionFailed, error
from assistant.contrib.openai_api.api.views import no_such_model
from assistant.contrib.openai_api.scopes import OPENAI as RULES
from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.contrib.openai_api.services.responses.request import parse_response
from assistant.services.assistants.configuration import active_assistants
from assistant.services.callers.connections import connection_slot, while_access_lasts
from assistant.services.callers.doors import Door, aadmit
from assistant.services.connections import shutdown
from assistant.services.connections.connection_limits import TooManyConnections
from assistant.services.connections.open_connections import is_full
from assistant.services.db.threads import in_database
from assistant.services.limits.rate_limits import CONNECTION_BURST, CONNECTION_RATE, take_handshake
from assistant.services.tenancy.authentication import AccessDenied, Credentials, bearer_of
from assistant.services.tenancy.origins import headers_of
from assistant.services.token_bucket import Bucket

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# The handshake is no request; each response is one.
HANDSHAKE = Door(OPENAI.accepts, counts_requests=False)
RULE = RULES["responses"]["POST"]
# The specification's bound.
LIFETIME_SECONDS = 3600.0
# Frames that wait for the response in progress.
MAX_WAITING = 8
# Responses that were not stored and can be continued on a connection: the latest.
MAX_UNSTORED = 100
CLOSE_DONE, CLOSE_RESTART, CLOSE_ACCESS_LOST, CLOSE_TOO_MANY = 1000, 1012, 4401, 4429


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one connection, an ASGI application. A handshake without a valid key is answered as over HTTP."""
    await receive()  # websocket.connect
    credentials = Credentials(bearer=bearer_of(headers_of(scope)))
    try:
        if not take_handshake(credentials.bearer or "") or is_full():
            raise AccessDenied("too_many_requests", "Too many connections. Try again in a moment.", retry_after=1)
        caller = await aadmit(credentials, HANDSHAKE, rule=RULE)
    except Exception as exc:
        await _refuse(scope, send, answer_of(exc))
        return
    async with AsyncExitStack() as held:
        try:
            await held.enter_async_context(connection_slot(caller.member))
        except TooManyConnections as exc:
            await _refuse(scope, send, error(429, str(exc), code="too_many_requests"))
            return
        await send({"type": "websocket.accept"})
        connection = _Connection(credentials, send)
        held.enter_context(while_access_lasts(caller, lambda: connection.end(CLOSE_ACCESS_LOST)))
        held.callback(shutdown.add_listener(connection.drain))
        await connection.serve(receive)


async def _refuse(scope: Scope, send: Send, answer: JsonResponse) -> None:
    """Answer a handshake with an HTTP error; servers that cannot do that (daphne) answer 403."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.items()]
    await send({"type": "websocket.http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": answer.content})


class _Connection:
    """One open connection: its frames are answered one after another."""

    def __init__(self, credentials: Credentials, send: Send) -> None:
        self._credentials = credentials
        self._send = send
        self._frames: asyncio.Queue[str] = asyncio.Queue(MAX_WAITING)
        self._unstored: OrderedDict[str, None] = OrderedDict()
        self._bucket = Bucket(CONNECTION_BURST, CONNECTION_RATE)
        self._code: int | None = None
        self._answering: asyncio.Task[None] | None = None
        self._is_busy = False

    def end(self, code: int) -> None:
        """Close the connection with a code, and stop what is in progress."""
        if self._answering is not None and self._code is None:
            self._code = code
            self._answering.cancel()

    def drain(self) -> None:
        """Close the connection once nothing is in progress, because the process is asked to end."""
        if not self._is_busy:
            self.end(CLOSE_RESTART)

    async def serve(self, receive: Receive) -> None:
        """Answer frames until the client leaves, or `end` is called."""
        self._answering = asyncio.create_task(self._answer(), name="responses-socket")
        reading = asyncio.create_task(self._read(receive), name="responses-socket-frames")
        await asyncio.wait({self._answering, reading}, return_when=asyncio.FIRST_COMPLETED)
        for task in (self._answering, reading):
            task.cancel()
        done = await asyncio.gather(self._answering, reading, return_exceptions=True)
        if self._code is not None:
            with suppress(OSError):  # the client has just disconnected
                await self._send({"type": "websocket.close", "code": self._code})
        for failure in done:
            if isinstance(failure, Exception):
                raise failure

    async def _read(self, receive: Receive) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            if not self._bucket.take():
                self._code = CLOSE_TOO_MANY
                return
            text = message.get("text")
            if text is None:
                await self._error(error(400, "A frame must be a text.", code="invalid_input"))
                continue
            try:
                self._frames.put_nowait(text)
            except asyncio.QueueFull:
                sentence = f"At most {MAX_WAITING} responses wait on a connection."
                await self._error(error(429, sentence, code="too_many_requests"))

    async def _answer(self) -> None:
        try:
            async with asyncio.timeout(LIFETIME_SECONDS) as lifetime:
                until = lifetime.when()
                while True:
                    text = await self._frames.get()
                    # A response in progress may go on for longer.
                    lifetime.reschedule(None)
                    self._is_busy = True
                    await self._answer_frame(text)
                    self._is_busy = False
                    if shutdown.is_shutting_down():
                        self._code = CLOSE_RESTART
                        return
                    lifetime.reschedule(until)
        except TimeoutError:
            minutes = LIFETIME_SECONDS / 60
            await self._error(
                error(400, f"A connection lasts {minutes:.0f} minutes.", code="websocket_connection_limit_reached")
            )
            self._code = CLOSE_DONE

    async def _answer_frame(self, text: str) -> None:
        """Answer one frame with the events of a response, or with an error."""
        try:
            frame = parse_object(text.encode("utf-8", "surrogatepass"))
            check_texts(frame)
            if frame.pop("type", None) != "response.create":
                raise InvalidRequest("type", "must be response.create.", error_code="unknown_event")
            await self._create(frame)
        except Exception as exc:
            await self._error(answer_of(exc))

    async def _create(self, body: dict[str, Any]) -> None:
        # As each request over HTTP: the key may have been given other scopes or limits meanwhile.
        caller = await aadmit(self._credentials, OPENAI, rule=RULE)
        # Always streamed, and gone with the connection.
        body.pop("stream", None)
        wanted = parse_response({**body, "stream": True})
        if wanted.is_background:
            raise InvalidRequest("background", "is not supported on a websocket.", error_code="unsupported_parameter")
        known = await in_database(active_assistants, tenant_id=caller.member.tenant_id)
        if wanted.model not in {one.slug for one in known}:
            await self._error(no_such_model(wanted.model))
            return
        new = await in_database(new_response, caller.member, wanted, unstored=tuple(self._unstored))
        collector = new.collector()
        parts = followed(caller, lambda: new.open_run(caller.member), collector, claimed=None)
        try:
            async with aclosing(parts):
                async for part in parts:
                    if part is not None:
                        await self._event(part)
        except CompletionFailed as exc:
            await self._event(collector.failed(exc))
        if collector.is_complete and not wanted.is_stored:
            self._unstored[new.id] = None
            if len(self._unstored) > MAX_UNSTORED:
                self._unstored.popitem(last=False)
        elif not collector.is_complete:
            self._unstored.pop(wanted.previous, None)

    async def _event(self, part: Part) -> None:
        await self._send({"type": "websocket.send", "text": encode(part).decode()})

    async def _error(self, answer: JsonResponse) -> None:
        """Send an error as an event, with what its HTTP response would hold."""
        body = {"type": "error", "status": answer.status_code, **json.loads(answer.content)}
        await self._event(body)
