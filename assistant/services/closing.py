"""Closes a run: one transaction that stores what it said, did and took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.core.messages import Message, Usage
from assistant.models import Conversation, UsageEntry
from assistant.services.history import store_messages
from assistant.services.leases import LostRun, RunKey, held


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended; `event` is its last event as clients see it (camelCase), without its number."""

    status: str
    event: Mapping[str, Any]
    error_code: str = ""
    error_message: str = ""


@transaction.atomic
def close_run(
    *,
    key: RunKey,
    messages: Sequence[Message],
    usage: Mapping[tuple[str, str], Usage],
    ending: Ending,
    last_seq: int,
) -> None:
    """Store a run's messages, usage and ending, whose event has the number `last_seq`.

    Raises:
        LostRun: `key.owner` no longer holds the run.
    """
    conversation = Conversation.objects.select_for_update().get(pk=key.conversation_id, tenant_id=key.tenant_id)
    total = sum(usage.values(), Usage())
    is_held = held(key).update(
        status=ending.status,
        ending=dict(ending.event),
        error_code=ending.error_code,
        error_message=ending.error_message,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        partial=None,
        checkpoint_seq=last_seq,
        lease_until=None,
        ended_at=timezone.now(),
    )
    if not is_held:
        raise LostRun(key.run_id)
    store_messages(
        conversation_id=conversation.pk, run_id=key.pk, messages=messages, first_position=conversation.message_count
    )
    conversation.message_count += len(messages)
    conversation.save(update_fields=["message_count", "updated_at"])
    UsageEntry.objects.bulk_create(
        UsageEntry(
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            assistant_id=key.assistant_id,
            run_id=key.pk,
            provider=provider,
            model=model,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_input_tokens=spent.cached_input_tokens,
            reasoning_tokens=spent.reasoning_tokens,
        )
        for (provider, model), spent in usage.items()
    )
