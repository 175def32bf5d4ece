"""Asks the model, after a finished run, for the conversation's title and for questions that could follow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from assistant.contrib.titles import FOLLOW_UPS, TITLES
from assistant.contrib.titles.side_question import SideAnswer, ask_aside
from assistant.contrib.titles.storing import MAX_RUNS, claim_title, store_follow_ups, store_title
from assistant.core.llm.protocol import Model, ModelError
from assistant.core.values.messages import Message, Usage
from assistant.core.values.untrusted import sources_of
from assistant.models import Assistant, UsageEntry
from assistant.models import Message as MessageRow
from assistant.services.assistants.provider_choice import answers_asides, choose_provider
from assistant.services.db.threads import in_database
from assistant.services.limits.quota_ledger import Estimate, reserve_run
from assistant.services.limits.usage import add_usage
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import FinishedRun, RunExtension
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# Requests for titles and questions that a process makes at once, and how long a further one waits. One that has waited
# longer is skipped: answers have priority.
AT_ONCE = 4
TURN_SECONDS = 15.0
# How long such a request may take.
ASK_SECONDS = 20.0
# Tokens that such a request is expected to use, in and out.
EXPECTED_TOKENS = 1_000
_turns = PerLoop(lambda: asyncio.Semaphore(AT_ONCE))


@dataclass(frozen=True)
class FollowUps(RunExtension[None]):
    """Asks for a title and for questions in one request, where they are wanted. A failing model changes nothing."""

    makes_titles: bool
    suggests_questions: bool

    async def followed(self, run: FinishedRun) -> None:
        last = run.messages[-1] if run.messages else None
        # No follow-up makes sense after waiting calls or typed answers.
        if last is None or last.role != "assistant" or not last.content or last.tool_calls or last.is_partial:
            return
        question = next((one for one in reversed(run.plan.messages) if one.role == "user"), Message("user"))
        wants_title = self.makes_titles and await in_database(claim_title, key=run.key)
        # What its reader sends is their own word, which names destinations: outsiders must not influence what is
        # offered.
        has_read = sources_of((*run.plan.messages, *run.messages))
        wants_questions = self.suggests_questions and not has_read
        if not (wants_title or wants_questions):
            return
        found = SideAnswer()
        try:
            if await in_database(_may_spend, run=run):
                found = await _asked(run, question, last, wants_title=wants_title, wants_questions=wants_questions)
        except (ModelError, TimeoutError) as exc:
            cause = getattr(exc, "cause", "it took too long")
            logger.warning("The model gave no title or questions after run %s: %s (%s)", run.key.run_id, exc, cause)
        finally:
            # Also if the server stops: a later run asks again.
            await asyncio.shield(_store(run, found, wants_title))


def follow_ups(key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]) -> tuple[FollowUps, ...]:
    """Return the extension that asks for what an assistant wants after a run; nothing if it wants nothing."""
    if not answers_asides(choose_provider(assistant)):
        return ()
    names = assistant.extensions
    makes_titles = settings.ASSISTANT_GENERATED_TITLES and TITLES in names and key.number <= MAX_RUNS
    suggests = FOLLOW_UPS in names
    return (FollowUps(makes_titles, suggests),) if makes_titles or suggests else ()


async def _asked(
    run: FinishedRun, question: Message, last: Message, *, wants_title: bool, wants_questions: bool
) -> SideAnswer:
    text = question.content
    if question.attachments:  # the text without the contents of attached files, which were put before it
        text = await in_database(_stored_text, key=run.key, message_id=question.id)
    model = run.answered_by.model
    spent = list[tuple[str, Usage]]()
    turn = _turns.get()
    async with asyncio.timeout(TURN_SECONDS):
        await turn.acquire()
    try:
        async with asyncio.timeout(ASK_SECONDS):
            return await ask_aside(
                model,
                question=text,
                answer=last.content,
                sources=last.sources,
                wants_title=wants_title,
                wants_questions=wants_questions,
                on_usage=lambda name, usage: spent.append((name, usage)),
            )
    finally:
        turn.release()
        if spent:
            await asyncio.shield(
                in_database(add_usage, key=run.key, usage=_priced(run, model, spent), purpose=_PURPOSE)
            )


_PURPOSE = UsageEntry.Purpose.TITLE


def _priced(run: FinishedRun, model: Model, spent: Sequence[tuple[str, Usage]]) -> dict[tuple[str, str], Usage]:
    prices = run.answered_by.prices
    return {(model.provider, name): prices.priced(usage, name, model.name) for name, usage in spent}


async def _store(run: FinishedRun, found: SideAnswer, wants_title: bool) -> None:
    if wants_title and await in_database(store_title, key=run.key, title=found.title):
        await run.log.publish_change(run.key.thread, "title")
    if not found.questions:
        return
    if await in_database(store_follow_ups, key=run.key, questions=found.questions):
        await run.log.publish_change(run.key.thread, "follow-ups")


def _may_spend(*, run: FinishedRun) -> bool:
    """Return whether the quotas of the tenant and the member leave anything. Nothing is reserved for so little."""
    if not run.quotas.counted:
        return True
    key = run.key
    asked = run.answered_by
    cost = asked.prices.priced(Usage(EXPECTED_TOKENS, 0), asked.model.name).cost
    with transaction.atomic():
        try:
            expected = Estimate(0, EXPECTED_TOKENS, cost)
            reserve_run(tenant_id=key.tenant_id, user_id=key.user_id, quotas=run.quotas, expected=expected)
        except QuotaReached:
            return False
        finally:
            transaction.set_rollback(True)
    return True


def _stored_text(*, key: RunKey, message_id: str) -> str:
    """Return the text of a message of a run's conversation as it was written, without the contents of its files."""
    rows = MessageRow.objects.filter(
        conversation=key.conversation_id, conversation__tenant_id=key.tenant_id, message_id=message_id
    )
    return rows.values_list("content", flat=True).first() or ""
