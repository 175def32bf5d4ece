"""Calls whose tools returned `Pending`: their tokens, what they wait for, and their results.

A row is stored before the tool runs, so that a result that comes before the tool has returned is found too. Its token
is computed, not random, so that a call that is repeated after its process died has the same one.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.urls import NoReverseMatch
from django.utils import timezone
from django.utils.crypto import salted_hmac

from assistant.contrib.later_results.models import PendingCall
from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.core.values.untrusted import bounded_sources
from assistant.models import Conversation, ToolCall
from assistant.services.addresses import api_url
from assistant.services.jobs import jobs
from assistant.services.run_key import RunKey
from assistant.services.toolcalls.later_results import STOPPED
from assistant.services.toolpolicy.titles import titles_of
from assistant.toolkit.calls.call import cut
from assistant.toolkit.context import UserId
from assistant.toolkit.waiting import Callback, Pending

# By the primary key of the waiting call, and of the run that goes on.
EXPIRE_JOB, CONTINUE_JOB = "pending.expire", "pending.continue"
PREFIX = "wait_"
State = PendingCall.State
CAME = (State.ANSWERED, State.EXPIRED)
ENDED = (*CAME, State.CANCELLED)
RULE = "Its result came later, from outside."


def token_of(key: RunKey, call_id: str) -> str:
    """Return the token of a run's call: the same each time."""
    value = f"{key.tenant_id} {key.pk} {call_id}"
    digest = salted_hmac("assistant.pending_calls", value, algorithm="sha256").digest()
    return PREFIX + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def callback_of(key: RunKey, tenant: str, call_id: str) -> Callback:
    """Return where the result of a run's call goes.

    Args:
        tenant: the slug of the tenant.
    """
    token = token_of(key, call_id)
    path = _path_of(tenant, token)
    return Callback(token, f"{settings.ASSISTANT_PUBLIC_URL.rstrip('/')}{path}" if path else "")


def _path_of(tenant: str, token: str) -> str:
    try:
        return api_url("pending", tenant=tenant, token=token)
    except NoReverseMatch:  # a project that does not include the REST API
        return ""


def hash_of(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def begin_waits(*, key: RunKey, batch: Iterable[PlannedCall], rows: Mapping[str, int]) -> None:
    """Store rows for calls that may wait, before they run.

    Args:
        rows: primary keys of the calls' rows, by call id.
    """
    for planned in batch:
        if planned.tool.waits:
            token = token_of(key, planned.call.id)
            # The first look-up in a process imports all pages, for seconds: here in a thread, not on the event loop.
            _path_of("-", token)
            PendingCall.objects.get_or_create(
                tenant_id=key.tenant_id,
                call_id=rows[planned.call.id],
                defaults={"run_id": key.pk, "hashed": hash_of(token)},
            )


def record_waits(*, key: RunKey, rows: Mapping[str, int], outcomes: Sequence[ToolOutcome]) -> None:
    """Store what calls wait for that have returned `Pending`; delete the rows of those that ended otherwise.

    Args:
        rows: primary keys of the calls' rows, by call id, of calls of tools that wait.
    """
    for outcome in outcomes:
        if outcome.call.id not in rows:
            continue
        own = PendingCall.objects.filter(tenant_id=key.tenant_id, call_id=rows[outcome.call.id])
        if outcome.pending is None:
            own.filter(state=State.BEGUN).delete()
            continue
        pending = outcome.pending
        own.update(until=pending.ends_at, note=pending.note, is_trusted=pending.trusted)
        if own.filter(state=State.BEGUN).update(state=State.WAITING):
            for pk in own.values_list("pk", flat=True):
                jobs.schedule(tenant_id=key.tenant_id, name=EXPIRE_JOB, key=str(pk), due_at=pending.ends_at)


def waits_of(
    *, tenant_id: int, conversation: Conversation | uuid.UUID, call_ids: Collection[str]
) -> dict[str, PendingCall]:
    """Return, by id, those of a conversation's calls without a result that wait for one, or whose result has come."""
    rows = PendingCall.objects.filter(
        tenant_id=tenant_id, call__run__conversation=conversation, call__call_id__in=call_ids
    ).exclude(state=State.BEGUN)
    return {row.call.call_id: row for row in rows.select_related("call")}


def known_outcomes(*, key: RunKey, calls: Sequence[Call]) -> dict[str, ToolOutcome]:
    """Return by id what is known of those of `calls` that returned `Pending`."""
    known = waits_of(tenant_id=key.tenant_id, conversation=key.conversation_id, call_ids=[call.id for call in calls])
    if not known:
        return {}
    titles = titles_of(tenant_id=key.tenant_id, names={row.call.name for row in known.values()})
    by_id = {call.id: call for call in calls}
    return {call_id: outcome_of(row, by_id[call_id], titles) for call_id, row in known.items()}


def outcome_of_call(row: ToolCall, work: PlannedCall) -> ToolOutcome | None:
    """Return what is known of a call that was begun before and is about to run again; None if nothing is."""
    known = PendingCall.objects.filter(tenant_id=row.tenant_id, call=row).exclude(state=State.BEGUN)
    found = known.select_related("call").first() if work.tool.waits else None
    return None if found is None else outcome_of(found, work.call, {row.name: work.tool.title.strip()})


def outcome_of(row: PendingCall, call: Call, titles: Mapping[str, str]) -> ToolOutcome:
    """Return what is known of a call: that it still waits, or what has come."""
    if row.state == State.ANSWERED:
        told = cut(row.result)
        return ToolOutcome(
            call,
            "error" if row.is_error else "ok",
            told,
            error=told if row.is_error else "",
            full="" if told is row.result else row.result,
            rule=RULE,
            sources=bounded_sources((*row.call.sources, *_outside(row, titles))),
            duration_ms=_milliseconds(row),
        )
    if row.state == State.EXPIRED:
        sentence = f"Nothing came until {row.until:%Y-%m-%d %H:%M} UTC, and nothing is waited for any more."
        return ToolOutcome(call, "timeout", sentence, error=sentence, rule=RULE, duration_ms=_milliseconds(row))
    if row.state == State.CANCELLED:
        return ToolOutcome(call, "cancelled", STOPPED, error=STOPPED, rule=RULE)
    # One whose time is over is about to expire.
    soon = datetime.now(UTC) + timedelta(seconds=1)
    pending = Pending(max(row.until or soon, soon), row.note, row.is_trusted)
    return ToolOutcome(call, "pending", rule=RULE, pending=pending, sources=tuple(row.call.sources))


def _outside(row: PendingCall, titles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the source that marks a result from outside, unless it is trusted."""
    return () if row.is_trusted else (titles.get(row.call.name) or row.call.name,)


def _milliseconds(row: PendingCall) -> int:
    # Not longer than the column holds: 24 days.
    return min(round(((row.ended_at or row.created_at) - row.created_at).total_seconds() * 1000), 2**31 - 1)


def cancel_waits(waits: QuerySet[PendingCall], *, tenant_id: int) -> list[str]:
    """Stop waiting for those of a tenant's `waits` without a result; return their calls' ids."""
    cancelled = []
    for row in waits.filter(tenant_id=tenant_id, state=State.WAITING).select_related("call"):
        own = PendingCall.objects.filter(pk=row.pk, tenant_id=tenant_id, state=State.WAITING)
        if own.update(state=State.CANCELLED, ended_at=timezone.now()):
            jobs.cancel(tenant_id=tenant_id, name=EXPIRE_JOB, key=str(row.pk))
            ToolCall.objects.filter(pk=row.call_id, tenant_id=tenant_id, status=ToolCall.Status.PENDING).update(
                status=ToolCall.Status.CANCELLED, error=STOPPED
            )
            cancelled.append(row.call.call_id)
    return cancelled


def settle_calls(*, tenant_id: int, calls: Collection[int]) -> None:
    """Store that a tenant's calls, by their primary keys, no longer wait: their run has ended without the results."""
    waiting = ToolCall.objects.filter(pk__in=calls, tenant_id=tenant_id, status=ToolCall.Status.PENDING)
    waiting.update(status=ToolCall.Status.CANCELLED)


def waiting_runs(*, tenant_id: int, user_id: UserId, run_id: str) -> QuerySet[PendingCall]:
    """Return the waiting calls of a member's runs with an id, and those whose results were not used yet."""
    named = Q(run__run_id=run_id) | Q(run__continues=run_id)
    open_calls = {"call__status": ToolCall.Status.PENDING, "state__in": (State.WAITING, *CAME)}
    return PendingCall.objects.filter(named, tenant_id=tenant_id, run__user_id=user_id, **open_calls)
