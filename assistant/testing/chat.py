"""A member's chat with an assistant in tests, through the websocket or the SSE door, without a server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, Self

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.middleware.csrf import CSRF_SESSION_KEY
from django.test import Client

from assistant.models import Assistant
from assistant.routing import with_assistant
from assistant.services.addresses import api_url
from assistant.testing.asgi_client import ORIGIN, Event, LoopThread, WebSocket, post_for_events
from assistant.testing.database import share_connections
from assistant.testing.tools import find_tenant

_ENDINGS = ("RUN_FINISHED", "RUN_ERROR")
# As Django's middleware takes it: 32 letters and digits.
_CSRF_TOKEN = "test" * 8


@dataclass(frozen=True)
class Answer:
    """The events of one run, as a client receives them (docs/websocket.md)."""

    events: list[Event]

    @property
    def text(self) -> str:
        """What the assistant wrote."""
        return "".join(event["delta"] for event in self.events if event["type"] == "TEXT_MESSAGE_CONTENT")

    @property
    def tool_calls(self) -> list[str]:
        """The names of the tools that were called, in order."""
        return [event["toolCallName"] for event in self.events if event["type"] == "TOOL_CALL_START"]

    @property
    def tool_results(self) -> list[Any]:
        """What the tools returned, in order: JSON as values, other results as text."""
        return [_value(event["content"]) for event in self.events if event["type"] == "TOOL_CALL_RESULT"]

    @property
    def waiting(self) -> list[Event]:
        """The calls that wait for an approval: interrupts with `id` and `toolCallId`."""
        outcome = self.events[-1].get("outcome") or {}
        return list(outcome.get("interrupts") or ())

    @property
    def error(self) -> str:
        """The code of the error with which the run ended; "" if it did not fail."""
        return str(self.events[-1].get("code", "")) if self.events[-1]["type"] == "RUN_ERROR" else ""


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class ChatTester:
    """A conversation of a user with an assistant; a context manager. The user is signed in with a session.

    The application runs in the test's process and on its database connections, so it works in a plain `TestCase`.

    Args:
        tenant: a row of your own tenant model, or a `Tenant`.
        user: a row of your user model.
        assistant: its slug; may be left out if the tenant has one.
        door: "websocket", or "sse" for the stream of server-sent events.
        application: your ASGI application; default your site with the assistant, as `with_assistant` returns it.

    Raises:
        NotAdmitted: the user may not use the assistant. Over SSE `ask` raises it.
        LookupError: the tenant has no assistant, or several and none is named.
    """

    def __init__(
        self,
        tenant: Any,
        user: Any,
        assistant: str = "",
        *,
        door: Literal["websocket", "sse"] = "websocket",
        application: Any = None,
    ) -> None:
        self.tenant = find_tenant(tenant)
        self.assistant = assistant or _only_assistant(self.tenant.pk)
        self.thread_id = str(uuid.uuid4())
        self._user = user
        self._door = door
        self._application = application
        self._socket: WebSocket | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            held.enter_context(share_connections())
            self._application = self._application or with_assistant(ASGIHandler())
            self._headers = _headers(self._user)
            self._loop = LoopThread()
            held.callback(self._loop.close)
            if self._door == "websocket":
                address = api_url("websocket", tenant=self.tenant.slug, assistant=self.assistant)
                socket = WebSocket(self._application, address, self._headers)
                self._loop.run(socket.open())
                held.callback(lambda: self._loop.run(socket.close()))
                self._socket = socket
            self._held = held.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._held.close()

    def ask(self, text: str, **fields: Any) -> Answer:
        """Send a message and return the answer to it.

        Args:
            fields: further fields of the `RunAgentInput`, such as `forwardedProps` and `tools`.
        """
        message = {"id": str(uuid.uuid4()), "role": "user", "content": text}
        return self.run(messages=[message], **fields)

    def decide(self, answer: Answer, *, approved: bool, **payload: Any) -> Answer:
        """Answer every call of `answer` that waits for an approval, and return how the run went on.

        Args:
            payload: more for the decision: `reason`, `editedArgs` or `response`.
        """
        decision = {"approved": approved, **payload}
        resume = [{"interruptId": one["id"], "status": "resolved", "payload": decision} for one in answer.waiting]
        return self.run(messages=[], resume=resume)

    def run(self, **fields: Any) -> Answer:
        """Start a run with any `RunAgentInput`; ids that are not given are generated."""
        frame = {
            "threadId": self.thread_id, "runId": str(uuid.uuid4()), "protocolVersion": "1.0", "messages": [],
            "tools": [], "context": [], "state": {}, "forwardedProps": {}, **fields,
        }  # fmt: skip
        if self._socket is None:
            address = api_url("start-run", tenant=self.tenant.slug, assistant=self.assistant)
            return Answer(self._loop.run(post_for_events(self._application, address, self._headers, frame)))
        return Answer(self._loop.run(_run(self._socket, frame)))

    def send(self, frame: Mapping[str, Any]) -> None:
        """Send any frame over the websocket, such as `attach` or `cancel`."""
        self._loop.run(self._open_socket().send(dict(frame)))

    def receive(self) -> Event:
        """Return the next event of the websocket."""
        return self._loop.run(self._open_socket().receive())

    def _open_socket(self) -> WebSocket:
        if self._socket is None:
            raise TypeError("Only a websocket has frames; this chat has none.")
        return self._socket


async def _run(socket: WebSocket, frame: Event) -> list[Event]:
    await socket.send(frame)
    events = [await socket.receive()]
    while events[-1]["type"] not in _ENDINGS:
        events.append(await socket.receive())
    return events


def _only_assistant(tenant_id: int) -> str:
    slugs = list(Assistant.objects.filter(tenant_id=tenant_id, is_active=True).values_list("slug", flat=True))
    if len(slugs) != 1:
        raise LookupError(f"Name one of the tenant's assistants: {', '.join(slugs) or 'there is none'}.")
    return str(slugs[0])


def _headers(user: Any) -> dict[str, str]:
    """Return the headers of a browser in which the user is signed in."""
    client = Client()
    client.force_login(user)
    session = client.session
    session[CSRF_SESSION_KEY] = _CSRF_TOKEN  # for projects with CSRF_USE_SESSIONS
    session.save()
    cookies = {settings.SESSION_COOKIE_NAME: str(session.session_key), settings.CSRF_COOKIE_NAME: _CSRF_TOKEN}
    token_header = settings.CSRF_HEADER_NAME.removeprefix("HTTP_").replace("_", "-")
    return {
        "cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
        token_header: _CSRF_TOKEN,
        "origin": ORIGIN,
    }
