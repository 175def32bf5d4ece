"""Bounds how many synchronous views run at once, and how many passwords are checked at once.

Django gives each request of a synchronous view a thread, with a database connection, of its own. Without a bound, sixty
sign-ins at once take all processor time for hashing, and the database's connections. Requests that wait take turns by
client address, and leave when their client does. Probes have places of their own; asynchronous views and websockets
need none.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings

from assistant.api.authentication import HttpRefusal
from assistant.asgi.json_apis import match_of, path_of
from assistant.asgi.refusals import Application, Message, Receive, Send, refuse
from assistant.health import probe_of
from assistant.services import gauges
from assistant.services.round_robin import RoundRobin
from assistant.services.signin.limits import network_of
from assistant.toolkit.per_loop import PerLoop

PROBE_PLACES = 4
# Names of views that check a password or a second factor from a submitted form.
SIGN_IN_NAMES = frozenset(
    {"login", "password_change", "account_login", "account_reauthenticate", "mfa_login_webauthn"}
    | {"mfa_authenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"}
)
# Hashing a password takes a core: at least half of them are left for everything else.
SIGN_IN_PLACES = max(1, (os.cpu_count() or 1) // 2)
MAX_WAITING, MAX_WAIT_SECONDS, RETRY_SECONDS = 500, 60.0, 5
# Of one client address, so that nobody fills the queue alone.
MAX_WAITING_OF_CLIENT = 100
# A response gives its place back at the latest this long after it has begun, however slowly the client reads.
READING_SECONDS = 5.0

BUSY = HttpRefusal(
    503, "unavailable", "Too many requests are waiting. Try again in a moment.", retry_after=RETRY_SECONDS
)


class Places:
    """A number of places. Requests that wait for one take turns by key."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: RoundRobin[str, asyncio.Future[None]] = RoundRobin()

    def waiting(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def take_free(self) -> bool:
        """Take a place if one is free; return whether one was."""
        if self._free:
            self._free -= 1
            return True
        return False

    async def take(self, key: str) -> bool:
        """Wait for a place; return False if too many wait, or it took too long."""
        if self.take_free():
            return True
        if len(self._waiting) >= MAX_WAITING or len(self._waiting.of(key)) >= MAX_WAITING_OF_CLIENT:
            return False
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(key, mine)
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await mine
        except BaseException as exc:
            if not self._waiting.remove(key, mine) and mine.done() and not mine.cancelled():
                self.give_back()
            if isinstance(exc, TimeoutError):
                return False
            raise
        return True

    def give_back(self) -> None:
        """Give the place to the next request that waits."""
        while len(self._waiting):
            following = self._waiting.pop()
            if not following.done():
                following.set_result(None)
                return
        self._free += 1


class _All:
    def __init__(self) -> None:
        self.probes, self.sign_ins = Places(PROBE_PLACES), Places(SIGN_IN_PLACES)
        self.views = Places(settings.ASSISTANT_MAX_SYNC_VIEWS)

    def waiting(self) -> int:
        return self.views.waiting() + self.sign_ins.waiting()


_places: PerLoop[_All] = PerLoop(_All)

gauges.watch(
    "assistant_views_waiting",
    "Requests that wait for a place to run a synchronous view.",
    lambda: sum(each.waiting() for each in _places.values()),
)


def with_bounded_views(application: Application) -> Application:
    """Wrap a Django site so that each request of a synchronous view waits for a place once its body is complete."""

    async def bounded(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        places = _places_for(scope) if scope["type"] == "http" else None
        if places is None:
            await application(scope, receive, send)
            return
        turn = _Turn(places, scope, receive, send)
        try:
            await application(scope, turn.receive, turn.send)
        finally:
            turn.close()

    return bounded


def _places_for(scope: MutableMapping[str, Any]) -> Places | None:
    found = _places.get()
    if probe_of(path_of(scope)):
        return found.probes
    match = match_of(scope)
    if match is None:
        return found.views
    if iscoroutinefunction(match.func) or getattr(match.func, "view_is_async", False):
        return None
    is_sign_in = scope["method"] == "POST" and match.url_name in SIGN_IN_NAMES
    return found.sign_ins if is_sign_in else found.views


class _Turn:
    """One request's wait for a place. A body that comes slowly takes none."""

    def __init__(self, places: Places, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self._places, self._scope, self._receive, self._send = places, scope, receive, send
        self._has_place = self._has_asked = self._is_refused = False
        # What comes after the body, if it was waited for beside a place.
        self._following: asyncio.Future[Message] | None = None

    async def receive(self) -> Message:
        if self._following is not None:
            following, self._following = self._following, None
            return await following
        message = await self._receive()
        if message["type"] != "http.request" or message.get("more_body", False) or self._has_asked:
            return message
        self._has_asked = True
        self._has_place = self._places.take_free() or await self._wait()
        if self._has_place:
            return message
        self._is_refused = True
        return {"type": "http.disconnect"}

    async def _wait(self) -> bool:
        """Wait for a place; return False if the request was refused, or its client has gone meanwhile."""
        taking = asyncio.ensure_future(self._places.take(_client_of(self._scope)))
        self._following = following = asyncio.ensure_future(self._receive())
        has_place = False
        try:
            await asyncio.wait([taking, following], return_when=asyncio.FIRST_COMPLETED)
            if following.done() and not taking.done() and following.result()["type"] == "http.disconnect":
                return False
            has_place = await taking
        finally:
            if not has_place and not taking.cancel() and not taking.cancelled() and taking.result():
                self._places.give_back()  # it has come while this request was ended
        if has_place:
            return True
        with suppress(OSError):
            await refuse(BUSY, self._scope, self._send)
        return False

    async def send(self, message: Message) -> None:
        if self._is_refused:
            return
        if message["type"] == "http.response.start":
            asyncio.get_running_loop().call_later(READING_SECONDS, self.end)
        await self._send(message)

    def close(self) -> None:
        self.end()
        if self._following is not None:
            self._following.cancel()

    def end(self) -> None:
        if self._has_place:
            self._has_place = False
            self._places.give_back()


def _client_of(scope: MutableMapping[str, Any]) -> str:
    return network_of(str((scope.get("client") or ("",))[0]))
