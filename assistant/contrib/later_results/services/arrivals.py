"""Accepts the result of a waiting call from the holder of its token."""

from __future__ import annotations

import threading
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import CONTINUE_JOB, EXPIRE_JOB, PREFIX, State, hash_of
from assistant.models import Run, Tenant, ToolCall
from assistant.services.jobs import jobs
from assistant.services.tenancy.row_scope import all_tenants, set_tenants
from assistant.services.token_bucket import Buckets
from assistant.toolkit import ToolError
from assistant.toolkit.calls.call import convert, stored

# Of requests with one token, and of those to one tenant whose token is unknown: a burst, then a number a second.
TOKEN_BURST, TOKEN_RATE = 10, 1.0
UNKNOWN_BURST, UNKNOWN_RATE = 100, 5.0
_tokens = Buckets(TOKEN_BURST, TOKEN_RATE)
_unknown = Buckets(UNKNOWN_BURST, UNKNOWN_RATE)
# Requests are answered in several threads, and buckets may be used by one thread at a time.
_one_at_a_time = threading.Lock()

Reason = Literal["not_found", "already_answered", "wait_over", "invalid_input", "too_many_requests"]


class ArrivalRefused(Exception):
    """A result is not accepted; the message is for its sender."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _take(buckets: Buckets, key: str) -> bool:
    with _one_at_a_time:
        return buckets.get(key).take()


def deliver(*, tenant_slug: str, token: str, value: Any, is_error: bool) -> None:
    """Store the result of a waiting call, and continue its run. Of several results the first one counts.

    Args:
        value: any JSON value; of an error its text.

    Raises:
        ArrivalRefused: nothing waits for it.
    """
    hashed = hash_of(token)
    if not _take(_tokens, hashed):
        raise ArrivalRefused("too_many_requests", "Too many requests with this token.")
    try:
        text = stored(convert(value))
    except ToolError as exc:
        raise ArrivalRefused("invalid_input", str(exc)) from exc
    with all_tenants():
        tenant_id = Tenant.objects.filter(slug=tenant_slug, is_active=True).values_list("pk", flat=True).first()
    is_possible = tenant_id is not None and token.startswith(PREFIX)
    if tenant_id is not None:
        set_tenants(tenant_id)
    if not is_possible or tenant_id is None or not _store(tenant_id, hashed, text, is_error=is_error):
        if not _take(_unknown, tenant_slug):
            raise ArrivalRefused("too_many_requests", "Too many requests with tokens that are not known.")
        raise ArrivalRefused("not_found", "There is no such thing here.")


@transaction.atomic
def _store(tenant_id: int, hashed: str, text: str, *, is_error: bool) -> bool:
    """Store a result; return False if the token is unknown."""
    rows = PendingCall.objects.filter(tenant_id=tenant_id, hashed=hashed)
    # Locked from here on, so that of two results that come at once the second one finds the first.
    is_taken = rows.filter(state__in=[State.BEGUN, State.WAITING]).update(
        state=State.ANSWERED, result=text, is_error=is_error, ended_at=timezone.now()
    )
    row = rows.select_related("run", "call").first()
    if row is None:
        return False
    if not is_taken:
        if row.state == State.ANSWERED:
            raise ArrivalRefused("already_answered", "The result of this call has come before.")
        raise ArrivalRefused("wait_over", "Nothing waits for the result of this call any more.")
    if not (row.run.is_active or row.run.status == Run.Status.WAITING) or row.call.status not in (
        ToolCall.Status.RUNNING,
        ToolCall.Status.PENDING,
    ):
        raise ArrivalRefused("wait_over", "Nothing waits for the result of this call any more.")
    jobs.cancel(tenant_id=tenant_id, name=EXPIRE_JOB, key=str(row.pk))
    jobs.schedule(tenant_id=tenant_id, name=CONTINUE_JOB, key=str(row.run_id), due_at=timezone.now())
    return True
