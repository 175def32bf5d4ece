"""Closes a run: stores its messages, usage, ending and event in one transaction, and reports the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.core.turn.plan import Plan
from assistant.core.values.events import RunError, RunFinished
from assistant.core.values.messages import Message, Usage
from assistant.core.values.timeline import Timeline
from assistant.models import Conversation, Run
from assistant.models import Message as MessageRow
from assistant.services import metrics
from assistant.services.conversations.returned_marks import digests_of
from assistant.services.conversations.stored_messages import store_messages
from assistant.services.eventlog.frames import as_mapping
from assistant.services.limits.quota_ledger import settle
from assistant.services.limits.usage import write_usage
from assistant.services.run_key import RunKey
from assistant.services.runs.leases import LostRun, held_run
from assistant.services.runs.opening.client_input import waiting_to_store
from assistant.services.runs.run_configurations import RunRecord, store_configuration
from assistant.services.tenant_events import record_run_event

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. `event` is its last event as JSON with AG-UI's names, without its number."""

    status: str
    event: Mapping[str, Any]
    error_code: str = ""
    error_message: str = ""


def ending_of(event: RunFinished | RunError) -> Ending:
    """Return the ending to store for a run's last event."""
    stored: dict[str, Any] = as_mapping(event)
    if isinstance(event, RunError):
        status = Run.Status.INTERRUPTED if event.code == "interrupted" else Run.Status.FAILED
        return Ending(status, stored, event.code or "", event.message)
    outcome = stored.get("outcome", {}).get("type", "success")
    status = {"cancelled": Run.Status.CANCELLED, "interrupt": Run.Status.WAITING}.get(outcome, Run.Status.FINISHED)
    return Ending(status, stored)


@transaction.atomic
def close_run(
    *,
    key: RunKey,
    messages: Sequence[Message],
    usage: Mapping[tuple[str, str], Usage],
    ending: Ending,
    last_seq: int,
    position: int | None = None,
    is_heard: bool = True,
    first_token: float | None = None,
    make_record: Callable[[], RunRecord] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Store a run's messages, usage, record and ending.

    Args:
        last_seq: the number of the ending's event.
        position: the position in the conversation of the first of `messages`; None to count. While a run is open,
            nothing else adds messages.
        is_heard: whether somebody wants the tenant's events; if not, nobody is told.
        first_token: seconds until the model's first token; None if there was none.
        make_record: returns the run's times and configuration; None if they are not known.
        columns: what the run's extensions store in its row.

    Raises:
        LostRun: `key.owner` does not hold the run any more.
    """
    conversation = Conversation.objects.filter(pk=key.conversation_id, tenant_id=key.tenant_id)
    if position is None:
        count = conversation.values_list("message_count", flat=True).first()
        position = (count or 0) + _count_input_messages(key)
    now, total = timezone.now(), sum(usage.values(), Usage())
    record = None if make_record is None else make_record()
    if any(key.reserved):
        settle(
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            began_at=key.began_at,
            reserved=key.reserved,
            spent=(total.total_tokens, total.cost),
        )
    # Every transaction updates the conversation's row first, so that two for the same conversation cannot deadlock.
    conversation.update(run_count=key.number, message_count=position + len(messages), updated_at=now)
    is_held = held_run(key).update(
        status=ending.status,
        ending=dict(ending.event),
        error_code=ending.error_code,
        error_message=ending.error_message,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        first_token_ms=None if first_token is None else round(first_token * 1000),
        configuration="" if record is None else record.configuration.digest,
        timeline=None if record is None else dict(record.timeline),
        partial=None,
        checkpoint_seq=last_seq,
        lease_until=None,
        ended_at=now,
        client_input=waiting_to_store() if ending.status == Run.Status.WAITING else None,
    )
    if not is_held:
        raise LostRun(key.run_id)
    if record is not None and (fallback := record.timeline.get("fallback")):
        took_over = {"fallback_provider": fallback["provider"][:100], "fallback_model": fallback["model"][:200]}
        Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).update(**took_over)
    if columns:
        Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).update(**columns)
    store_messages(
        tenant_id=key.tenant_id,
        conversation_id=key.conversation_id,
        run_id=key.pk,
        messages=messages,
        first_position=position,
        digests=digests_of(messages, key=key) if [message for message in messages if message.sources] else None,
    )
    write_usage(key=key, usage=usage)
    if record is not None:
        store_configuration(tenant_id=key.tenant_id, configuration=record.configuration, now=now)
    if is_heard:
        record_run_event(
            key=key,
            status=ending.status,
            error_code=ending.error_code,
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
        )


def _count_input_messages(key: RunKey) -> int:
    """Count the messages that the run was opened with, which are stored but not yet in the conversation's count."""
    return MessageRow.objects.filter(
        conversation=key.conversation_id, conversation__tenant_id=key.tenant_id, run_id=key.pk
    ).count()


def report_end(
    *,
    plan: Plan,
    ending: Ending,
    events: int,
    seconds: float,
    first_token: float | None,
    usage: Mapping[tuple[str, str], Usage],
    timeline: Timeline,
    is_test: bool,
) -> None:
    """Record the end of a run in metrics and log.

    Args:
        events: how many events the run wrote.
        seconds: how long it took.
        first_token: seconds until the model's first token; None if there was none.
    """
    metrics.counting().count_run(
        tenant=plan.context.tenant.slug,
        outcome=ending.status,
        code=ending.error_code,
        provider=plan.model.provider,
        seconds=seconds,
        first_token=first_token,
        usage=usage,
        is_test=is_test,
    )
    if timeline.fallback:
        metrics.counting().count_fallback(provider=plan.model.provider, reason=timeline.fallback["reason"])
    for outcome, count in timeline.written_calls.items():
        metrics.counting().count_written_calls(provider=plan.model.provider, outcome=outcome, count=count)
    fields = {
        "outcome": ending.error_code or ending.status,
        "duration_ms": round(seconds * 1000),
        "events": events,
        "input_tokens": sum(spent.input_tokens for spent in usage.values()),
        "output_tokens": sum(spent.output_tokens for spent in usage.values()),
    }
    logger.info("Run ended: %s", fields["outcome"], extra=fields)
