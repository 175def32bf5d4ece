"""What `assistant_seed` makes of the improvement desk: groups with their runs, and annotations of some of them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from assistant.contrib.improvements.models import Annotation, ProblemCase, ProblemGroup, Signature
from assistant.models import Assistant, Conversation, Message, PromptVersion, Run, UsageEntry

TIMED = (ProblemGroup, Annotation)
# What goes wrong, of which tool, the question that shows it, the answer, and what is said of it.
PROBLEMS = (
    (Signature.TOOL_ERROR, "get_customer", "Who is 42?", "I could not look that up.", "get_customer: timed out"),
    (Signature.KNOWLEDGE, "", "Do you repair tents?", "I do not know.", "Nothing was found: repair tents"),
    (Signature.STYLE, "", "Can I return a tent?", "No! Read the rules.", "Not helpful: rude"),
    (Signature.REFUSAL, "refund", "I want my money back.", "I may not do that here.", "refund: off for the tenant"),
)
CASES = 4


def rows_of(chance: random.Random, draft: PromptVersion, owner: Any, now: datetime) -> Iterator[Any]:
    """Yield a tenant's unsaved rows: two to four groups, one of them changed by the draft, each with its cases."""
    assistant = draft.assistant
    chosen = chance.sample(PROBLEMS, chance.randint(2, len(PROBLEMS)))
    for place, (signature, subject, question, answer, detail) in enumerate(chosen):
        is_changed = place == 1
        group = ProblemGroup(
            tenant=assistant.tenant,
            assistant=assistant,
            signature=signature,
            subject=subject,
            state=ProblemGroup.State.CHANGED if is_changed else ProblemGroup.State.OPEN,
            draft=draft if is_changed else None,
            changed_at=now - timedelta(days=8) if is_changed else None,
            changed_by=owner if is_changed else None,
            created_at=now - timedelta(days=12),
        )
        yield group
        for number in range(CASES):
            at = now - timedelta(hours=chance.uniform(2, 280))
            run, rows = _asked(chance, assistant, owner, (question, answer), at)
            yield from rows
            words = sorted({word.strip("?.!").lower() for word in question.split()})
            yield ProblemCase(
                tenant=assistant.tenant, group=group, run=run, question=question, words=words, detail=detail, at=at
            )
            if number == 0:
                yield Annotation(
                    tenant=assistant.tenant,
                    conversation=run.conversation,
                    run=run,
                    label=Annotation.Label.STYLE if signature == Signature.STYLE else Annotation.Label.WRONG,
                    note="Customers ask this every week.",
                    corrected_answer="Yes, within thirty days.",
                    is_looked_at=True,
                    author=owner,
                    changed_at=at + timedelta(hours=1),
                )


def _asked(
    chance: random.Random, assistant: Assistant, user: Any, said: tuple[str, str], at: datetime
) -> tuple[Run, list[Any]]:
    """Return a run, and the rows of its conversation with it, as they are stored."""
    conversation = Conversation(
        id=uuid.UUID(int=chance.getrandbits(128), version=4),
        tenant=assistant.tenant,
        user=user,
        assistant=assistant,
        title=said[0],
        run_count=1,
        message_count=2,
        created_at=at,
        updated_at=at,
    )
    run = Run(
        tenant=assistant.tenant,
        user=user,
        assistant=assistant,
        conversation=conversation,
        run_id=f"seed-desk-{conversation.pk.hex[:12]}",
        number=1,
        status=Run.Status.FINISHED,
        provider_name="Seed",
        model="seed-model",
        started_at=at,
        ended_at=at + timedelta(seconds=4),
    )
    messages = [
        Message(
            conversation=conversation,
            run=run,
            position=place + 1,
            message_id=f"{run.run_id}-{place}",
            role=role,
            content=text,
            created_at=at,
        )
        for place, (role, text) in enumerate(zip(("user", "assistant"), said, strict=True))
    ]
    usage = UsageEntry(
        tenant=assistant.tenant,
        user=user,
        assistant=assistant,
        run=run,
        provider="Seed",
        model="seed-model",
        created_at=at,
    )
    return run, [conversation, run, *messages, usage]
