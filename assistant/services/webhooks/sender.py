"""Sends messages to webhooks: a task of the serving process, or one round for a command."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import time
from collections import Counter

import httpx2
from django.db import DatabaseError
from django.utils import timezone

from assistant.services.db.threads import in_database
from assistant.services.tenancy.row_scope import set_tenants, tenant_scope
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.services.webhooks.deliveries import Attempt, Claimed, claim_due, give_back, settle
from assistant.services.webhooks.events import signed_headers
from assistant.toolkit.guards.guarded_http import guarded_client

logger = logging.getLogger(__name__)

# How often the table is looked at, when nothing else happens.
POLL_SECONDS = 2.0
# A receiver that has not answered by then has failed; `deliveries.CLAIM` is longer.
SEND_SECONDS = 15.0
# How long a process that is asked to end waits for answers; what has none by then is left to the next process.
GRACE_SECONDS = 2.0
# Messages that one process sends side by side.
ROOM = 200


class Courier:
    """Sends what is due, from one event loop."""

    def __init__(self) -> None:
        self._busy: Counter[tuple[int, int]] = Counter()
        self._sending: dict[asyncio.Task[None], Claimed] = {}
        self._work: asyncio.Task[None] | None = None
        self._freed = asyncio.Event()
        self._client = guarded_client(tenant_guard(), timeout=SEND_SECONDS, follow_redirects=False)

    def start(self) -> None:
        """Begin to look for what is due; the second call does nothing."""
        if self._work is None:
            # In a context of its own, as what it does belongs to no request.
            self._work = asyncio.create_task(
                self._keep_sending(), name="webhook-courier", context=contextvars.Context()
            )

    async def stop(self) -> None:
        """End, and leave the rest to the next process."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._sending:
            await asyncio.wait(self._sending, timeout=GRACE_SECONDS)
        left = dict(self._sending)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for work in left.values():
            with contextlib.suppress(DatabaseError), tenant_scope(work.tenant_id):
                await in_database(give_back, work=work)
        await self._client.aclose()

    async def send_all(self) -> int:
        """Send until nothing is due any more; returns how many tries were made."""
        tries = 0
        while await self._begin() or self._sending:
            tries += len(self._sending)
            await asyncio.gather(*self._sending)
        return tries

    async def _keep_sending(self) -> None:
        while True:
            self._freed.clear()
            try:
                await self._begin()
            except (DatabaseError, OSError):
                logger.warning("Messages to webhooks could not be read", exc_info=True)
            except Exception:
                logger.exception("Messages to webhooks could not be sent")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._freed.wait()

    async def _begin(self) -> bool:
        """Begin to send what is due and has room; whether there was anything."""
        claimed = await in_database(claim_due, busy=dict(self._busy), room=ROOM - len(self._sending))
        for work in claimed:
            place = (work.tenant_id, work.webhook_id)
            self._busy[place] += 1
            task = asyncio.create_task(self._send(work), name=f"webhook-{work.pk}")
            self._sending[task] = work
            task.add_done_callback(self._forget)
        return bool(claimed)

    def _forget(self, task: asyncio.Task[None]) -> None:
        work = self._sending.pop(task)
        place = (work.tenant_id, work.webhook_id)
        self._busy[place] -= 1
        if not self._busy[place]:
            del self._busy[place]
        self._freed.set()
        if not task.cancelled() and task.exception() is not None:
            logger.error("What came of message %s could not be kept", work.pk, exc_info=task.exception())

    async def _send(self, work: Claimed) -> None:
        set_tenants(work.tenant_id)
        attempt = await try_once(self._client, work)
        await in_database(settle, work=work, attempt=attempt)


async def try_once(client: httpx2.AsyncClient, work: Claimed) -> Attempt:
    """Send a message once. Of the answer its status is read, and no byte of its body; redirects are not followed."""
    headers = signed_headers(message_id=work.message_id, body=work.body, secrets=work.secrets, now=timezone.now())
    headers |= {"content-type": "application/json", "user-agent": "tenant-assistant-webhooks/1"}
    began = time.monotonic()
    code, error = None, ""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            async with client.stream("POST", work.url, content=work.body.encode(), headers=headers) as answer:
                code = answer.status_code
    except (TimeoutError, httpx2.TimeoutException):
        error = f"There was no answer within {SEND_SECONDS:g} seconds."
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        error = str(exc) or type(exc).__name__
    return Attempt(code, error if code is None else "", int((time.monotonic() - began) * 1000))


async def send_what_is_due() -> int:
    """Send all that is due, once, and return how many tries that took; for a command."""
    courier = Courier()
    try:
        return await courier.send_all()
    finally:
        await courier.stop()
