"""What follows a finished run, in the background: its conversation's title, follow-up questions and summary."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from assistant.core.conversation.side_question import SideAnswer, ask_aside
from assistant.core.llm.protocol import Model, ModelError
from assistant.core.turn.plan import Fallback, Plan
from assistant.core.values.messages import Message, Usage
from assistant.core.values.timeline import Timeline
from assistant.core.values.untrusted import sources_of
from assistant.models import UsageEntry
from assistant.services.conversations.stored_messages import stored_text
from assistant.services.conversations.summaries import summarise_if_long
from assistant.services.conversations.titles import claim_title, store_follow_ups, store_title
from assistant.services.db.threads import in_database
from assistant.services.errors import OUTAGE_ERRORS
from assistant.services.eventlog.log import FOLLOW_UPS, SUMMARY, TITLE, EventLog
from assistant.services.limits.quota_ledger import Estimate, reserve_run
from assistant.services.limits.usage import add_usage
from assistant.services.run_key import RunKey
from assistant.services.tenancy.quotas import QuotaReached, Quotas
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# Requests for titles and questions that a process makes at once, and how long a further one waits. One that has waited
# longer is skipped: answers have priority.
AT_ONCE, TURN_SECONDS = 4, 15.0
# How long such a request may take.
ASK_SECONDS = 20.0
# Tokens that such a request is expected to use, in and out.
EXPECTED_TOKENS = 1_000
_turns = PerLoop(lambda: asyncio.Semaphore(AT_ONCE))


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run: its plan, what it answered, the quotas that it counted towards, and the event log."""

    key: RunKey
    plan: Plan
    messages: Sequence[Message]
    timeline: Timeline
    quotas: Quotas
    log: EventLog

    @property
    def answered_by(self) -> Fallback:
        """The model that answered, with its prices: a fallback answers to the end of a turn."""
        plan = self.plan
        return plan.fallbacks[-1] if self.timeline.fallback else Fallback(plan.model, plan.settings.prices)


async def after_run(run: Finished) -> None:
    """Ask the model for what the assistant's settings want after a run, and summarise a long conversation."""
    try:
        await _ask_aside(run)
        if await _summarise(run):
            await run.log.publish_change(run.key.thread, SUMMARY)
    except OUTAGE_ERRORS:
        logger.warning("Nothing could be stored after run %s", run.key.run_id, exc_info=True)


async def _summarise(run: Finished) -> bool:
    return await summarise_if_long(
        key=run.key,
        model=run.answered_by.model,
        prices=run.answered_by.prices,
        messages=(*run.plan.messages, *run.messages),
        tokens=run.plan.settings.history_tokens,
    )


async def _ask_aside(run: Finished) -> None:
    """Ask for a title and for questions in one request, where they are wanted. A failing model changes nothing."""
    settings, last = run.plan.settings, run.messages[-1] if run.messages else None
    if not (settings.makes_titles or settings.suggests_follow_ups):
        return
    # No follow-up makes sense after waiting calls or typed answers.
    if last is None or last.role != "assistant" or not last.content or last.tool_calls or last.is_partial:
        return
    question = next((one for one in reversed(run.plan.messages) if one.role == "user"), Message("user"))
    wants_title = settings.makes_titles and await in_database(claim_title, key=run.key)
    # What its reader sends is their own word, which names destinations: outsiders must not influence what is offered.
    has_read = sources_of((*run.plan.messages, *run.messages))
    wants_questions = settings.suggests_follow_ups and not has_read
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


async def _asked(
    run: Finished, question: Message, last: Message, *, wants_title: bool, wants_questions: bool
) -> SideAnswer:
    text = question.content
    if question.attachments:  # the text without the contents of attached files, which were put before it
        text = await in_database(stored_text, key=run.key, message_id=question.id)
    model, spent = run.answered_by.model, list[tuple[str, Usage]]()
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


def _priced(run: Finished, model: Model, spent: Sequence[tuple[str, Usage]]) -> dict[tuple[str, str], Usage]:
    prices = run.answered_by.prices
    return {(model.provider, name): prices.priced(usage, name, model.name) for name, usage in spent}


async def _store(run: Finished, found: SideAnswer, wants_title: bool) -> None:
    if wants_title and await in_database(store_title, key=run.key, title=found.title):
        await run.log.publish_change(run.key.thread, TITLE)
    if not found.questions:
        return
    if await in_database(store_follow_ups, key=run.key, questions=found.questions):
        await run.log.publish_change(run.key.thread, FOLLOW_UPS)


def _may_spend(*, run: Finished) -> bool:
    """Return whether the quotas of the tenant and the member leave anything. Nothing is reserved for so little."""
    if not run.quotas.counted:
        return True
    key, asked = run.key, run.answered_by
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
