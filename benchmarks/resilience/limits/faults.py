"""The planted faults of the check `limits`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any


def check_no_limit() -> None:
    """No limit is ever reached."""
    from assistant.services.limits import quota_ledger

    quota_ledger._reached = lambda *_, **__: []


def store_no_count() -> None:
    """Counts are not stored."""
    from assistant.models import QuotaUse

    QuotaUse.save = lambda *_, **__: None  # type: ignore[method-assign]


def count_no_requests() -> None:
    """Requests of API keys are not counted."""
    from assistant.services.limits import api_key_requests

    api_key_requests._take = lambda *_: True


def count_twice() -> None:
    """Each message counts as two."""
    from assistant.services.runs.opening import begin_run as opening

    take = opening.reserve_run  # type: ignore[attr-defined]

    def careless(*, expected: Any, **about: Any) -> Any:
        return take(expected=replace(expected, messages=2 * expected.messages), **about)

    opening.reserve_run = careless  # type: ignore[attr-defined]


def count_without_locking() -> None:
    """Counts are read without a lock, so that two processes store the same next one. SQLite has only one writer."""
    from django.db.models.query import QuerySet

    QuerySet.select_for_update = lambda self, **_: self.all()  # type: ignore[method-assign]
    from assistant.services.limits import quota_ledger

    locked = quota_ledger._lock

    def slow(*args: Any) -> Any:
        found = locked(*args)
        time.sleep(0.05)
        return found

    quota_ledger._lock = slow  # type: ignore[assignment]


def name_wrong_retry_time() -> None:
    """The retry time of refusals is half a minute too early."""
    from assistant.core.values.quota_kinds import Windows

    end = Windows.end
    Windows.end = lambda self, window: end(self, window) - timedelta(seconds=30)  # type: ignore[method-assign]


def leave_out_retry_time() -> None:
    """Refusals have no retry time."""
    from assistant.services.errors import Refused
    from assistant.websocket import consumer

    told = consumer.refusal_frame  # type: ignore[attr-defined]

    def without_time(given: Mapping[str, Any], refusal: Refused, seq: int = 1) -> str:
        return told(given, Refused(refusal.code, "No."), seq)

    consumer.refusal_frame = without_time  # type: ignore[attr-defined]


def count_no_connections() -> None:
    """Connections are not counted."""
    from assistant.contrib.redis.connection_limits import RedisConnectionLimiter
    from assistant.services.connections.connection_limits import LocalConnectionLimiter, _slot

    async def acquire(self: Any, member: Any) -> Any:
        return _slot(member)

    async def release(self: Any, slot: Any) -> None:
        return None

    for kind in (LocalConnectionLimiter, RedisConnectionLimiter):
        kind.acquire, kind.release = acquire, release  # type: ignore[method-assign]


def count_no_calls() -> None:
    """A run's tool calls are not counted."""
    from assistant.core.toolcalls.admission import CallLimiter

    CallLimiter.admit = lambda *_: None  # type: ignore[method-assign]


def count_no_frames() -> None:
    """The frames of connections are not counted."""
    from assistant.services.token_bucket import Bucket

    Bucket.take = lambda *_: True  # type: ignore[method-assign]
