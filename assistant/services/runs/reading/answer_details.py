"""What a page shows below an answer: its time, its model, the member's rating and, if the tenant wants it, its cost."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Sum

from assistant.core.values.pricing import MILLIONTHS
from assistant.models import Feedback, Tenant, UsageEntry
from assistant.models import Message as MessageRow
from assistant.services.conversations.added_details import added_details, explanations
from assistant.services.knowledge.sources import visible_sources
from assistant.services.runs.reading.stored_thread import MAX_SNAPSHOT_MESSAGES, own_thread, readable_runs
from assistant.services.tenancy.audience import Fact, is_told
from assistant.services.tenancy.brands import brand_of
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp


def answer_details(*, member: Member, thread_id: uuid.UUID, number: int | None = None) -> list[dict[str, Any]]:
    """Return what is known of a thread's answers, oldest first, as clients get it; nothing of threads of others.

    Answers have `messageId`, `runId`, `createdAt`, and where they are known `model` and `isFallback` (if that model
    took over because the first could not answer) for those who are told, `feedback` (`rating`, `comment`), `usage`
    (`inputTokens`, `outputTokens` and `cost` of the whole run), `sources` (the passages that the run's answer names and
    the caller may read now, each with `number`, `source_id`, `source`, `heading`, `page` and `text`), `added` (what
    optional apps add), and, of the last of a run's answers, `why` (a sentence on what it was made from, in the caller's
    language, if an app says it).

    Args:
        number: of the only run that is asked for; None for the newest messages of all.
    """
    runs = readable_runs(member).filter(conversation__in=own_thread(member, thread_id))
    rows = MessageRow.objects.filter(
        conversation__in=own_thread(member, thread_id),
        conversation__tenant_id=member.tenant_id,
        run__in=runs,
        role=MessageRow.Role.ASSISTANT,
        is_superseded=False,
    ).exclude(content="")
    if number is not None:
        rows = rows.filter(run__number=number)
    found = list(rows.select_related("run__assistant").order_by("-position")[:MAX_SNAPSHOT_MESSAGES])
    ratings = Feedback.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, message__in=found)
    given = {row.message_id: {"rating": row.rating, "comment": row.comment} for row in ratings}
    used = _usage(member, {row.run_id for row in found if row.run_id})
    shown = {row.run_id: row.run for row in found if row.run}
    added = added_details(member=member, runs=shown.values())
    brand = brand_of(tenant_id=member.tenant_id)
    cited = {run.pk: run.passages for run in shown.values() if run.passages}
    assistant = found[0].run.assistant.slug if cited and found[0].run else ""
    sources = visible_sources(member=member, assistant=assistant, passages=cited) if cited else {}
    why = explanations(
        member=member, thread_id=thread_id, runs=shown.values(), sources=sources, added=added, brand=brand
    )
    last = {row.run_id: row.pk for row in reversed(found)}
    is_told_models = is_told(member, Fact.MODEL, brand=brand)
    details = []
    for row in reversed(found):
        run = row.run
        assert run is not None  # noqa: S101 - the query asks for it  # nosec B101
        took_over = run.fallback_model
        # Members who may choose a model know the names.
        names_model = is_told_models or (run.assistant.other_models and not member.is_end_user)
        about = {
            "model": (took_over or run.model or None) if names_model else None,
            "isFallback": (bool(took_over) or None) if names_model else None,
            "feedback": given.get(row.pk),
            "usage": used.get(run.pk),
            "sources": sources.get(run.pk) or None,
            "added": added.get(run.pk),
            "why": why.get(run.pk) if last[run.pk] == row.pk else None,
        }
        details.append(
            {
                "messageId": row.message_id,
                "runId": run.run_id,
                "createdAt": format_timestamp(row.created_at),
                **{name: value for name, value in about.items() if value is not None},
            }
        )
    return details


def _usage(member: Member, runs: set[int]) -> dict[Any, dict[str, Any]]:
    """Return tokens and cost by run, if the tenant shows them."""
    if not Tenant.objects.filter(pk=member.tenant_id, shows_usage=True).exists():
        return {}
    entries = UsageEntry.objects.filter(tenant_id=member.tenant_id, run__in=runs, purpose=UsageEntry.Purpose.ANSWER)
    sums = entries.values("run").annotate(read=Sum("input_tokens"), written=Sum("output_tokens"), cost=Sum("cost"))
    return {
        one["run"]: {
            "inputTokens": one["read"],
            "outputTokens": one["written"],
            **({"cost": one["cost"] / MILLIONTHS} if one["cost"] else {}),
        }
        for one in sums
    }
