"""Sends webhook deliveries: in a task of the server process, or once for a command."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import httpx2
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from assistant.contrib.webhooks.services.deliveries import (
    Attempt,
    ClaimedDelivery,
    claim_due,
    record_attempt,
    release,
)
from assistant.contrib.webhooks.services.events import add_listener, signed_headers
from assistant.services.db.threads import in_database
from assistant.services.roles import does_background_work, has_workers
from assistant.services.tenancy.row_scope import set_tenants, tenant_scope
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.guarded_http import guarded_client

logger = logging.getLogger(__name__)

# How often the queue is polled while nothing is sent. New deliveries of this process and retries that become due wake
# the sender earlier, so only deliveries of a process that died wait so long; with workers, those of web processes too.
POLL_SECONDS, POLL_SECONDS_OF_WORKERS = 5.0, 2.0
MIN_SECONDS = 0.02
# Timeout of an attempt; shorter than `deliveries.CLAIM_TIMEOUT`.
SEND_SECONDS = 15.0
# How long a shutdown waits for responses. Deliveries without one are released.
SHUTDOWN_SECONDS = 2.0
# Concurrent deliveries of one process.
MAX_SENDING = 200


class WebhookSender:
    """Sends the deliveries that are due, in one event loop."""

    def __init__(self) -> None:
        self._count_by_webhook: Counter[tuple[int, int]] = Counter()
        self._sending: dict[asyncio.Task[None], ClaimedDelivery] = {}
        self._poller: asyncio.Task[None] | None = None
        self._is_due = asyncio.Event()
        self._next_in = 0.0
        self._ignore_due: Callable[[], None] | None = None
        self._client = guarded_client(tenant_guard(), timeout=SEND_SECONDS, follow_redirects=False)

    def start(self) -> None:
        """Start to poll the queue; a second call does nothing."""
        if self._poller is None:
            self._ignore_due = add_listener(partial(self._wake, asyncio.get_running_loop()))
            # An empty context: the task must not inherit the tenant of the request that starts it.
            self._poller = asyncio.create_task(self._poll(), name="webhook-sender", context=contextvars.Context())

    async def stop(self) -> None:
        """Stop polling, and release deliveries that get no response within `SHUTDOWN_SECONDS`."""
        if self._ignore_due is not None:
            self._ignore_due()
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)
        if self._sending:
            await asyncio.wait(self._sending, timeout=SHUTDOWN_SECONDS)
        left = dict(self._sending)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for delivery in left.values():
            with contextlib.suppress(DatabaseError), tenant_scope(delivery.tenant_id):
                await in_database(release, delivery=delivery)
        await self._client.aclose()

    async def send_all(self) -> int:
        """Send until nothing is due; return the number of attempts."""
        attempts = 0
        while await self._begin() or self._sending:
            attempts += len(self._sending)
            await asyncio.gather(*self._sending)
        return attempts

    async def _poll(self) -> None:
        while True:
            self._is_due.clear()
            self._next_in = POLL_SECONDS_OF_WORKERS if has_workers() else POLL_SECONDS
            try:
                await self._begin()
            except (DatabaseError, OSError):
                logger.warning("Webhook deliveries could not be read", exc_info=True)
            except Exception:
                logger.exception("Webhook deliveries could not be sent")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._next_in):
                    await self._is_due.wait()

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop of a server that has just closed
            loop.call_soon_threadsafe(self._is_due.set)

    def _note_next(self, seconds: float) -> None:
        # Databases round moments differently.
        self._next_in = min(self._next_in, seconds + MIN_SECONDS)

    async def _begin(self) -> bool:
        """Start to send what is due; return whether there was anything."""
        claimed = await in_database(
            claim_due,
            sending=dict(self._count_by_webhook),
            limit=MAX_SENDING - len(self._sending),
            next_in=self._note_next,
        )
        for delivery in claimed:
            webhook = (delivery.tenant_id, delivery.webhook_id)
            self._count_by_webhook[webhook] += 1
            task = asyncio.create_task(self._send(delivery), name=f"webhook-{delivery.pk}")
            self._sending[task] = delivery
            task.add_done_callback(self._forget)
        return bool(claimed)

    def _forget(self, task: asyncio.Task[None]) -> None:
        delivery = self._sending.pop(task)
        webhook = (delivery.tenant_id, delivery.webhook_id)
        self._count_by_webhook[webhook] -= 1
        if not self._count_by_webhook[webhook]:
            del self._count_by_webhook[webhook]
        self._is_due.set()
        if not task.cancelled() and task.exception() is not None:
            logger.error(
                "The attempt to send delivery %s could not be recorded", delivery.pk, exc_info=task.exception()
            )

    async def _send(self, delivery: ClaimedDelivery) -> None:
        set_tenants(delivery.tenant_id)
        attempt = await send_once(self._client, delivery)
        await in_database(record_attempt, delivery=delivery, attempt=attempt)


async def send_once(client: httpx2.AsyncClient, delivery: ClaimedDelivery) -> Attempt:
    """Send a delivery once. Redirects are not followed, and the response's body is not read."""
    headers = signed_headers(
        message_id=delivery.message_id, body=delivery.body, secrets=delivery.secrets, now=timezone.now()
    )
    headers |= {"content-type": "application/json", "user-agent": "tenant-assistant-webhooks/1"}
    if delivery.trace_parent:
        headers["traceparent"] = delivery.trace_parent
    began = time.monotonic()
    code, error = None, ""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            async with client.stream("POST", delivery.url, content=delivery.body.encode(), headers=headers) as response:
                code = response.status_code
    except (TimeoutError, httpx2.TimeoutException):
        error = f"There was no answer within {SEND_SECONDS:g} seconds."
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        error = str(exc) or type(exc).__name__
    return Attempt(code, error if code is None else "", int((time.monotonic() - began) * 1000))


def sender_of_server() -> WebhookSender | None:
    """Return the sender of a server process; None if it has to send nothing."""
    return WebhookSender() if settings.ASSISTANT_WEBHOOKS_FROM_SERVER and does_background_work() else None


async def send_due() -> int:
    """Send everything that is due and return the number of attempts; for a command."""
    sender = WebhookSender()
    try:
        return await sender.send_all()
    finally:
        await sender.stop()
