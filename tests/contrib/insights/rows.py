"""Runs to sum, and sums to read."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from assistant.contrib.insights.models import DaySum
from assistant.models import Feedback, Message, Run, ToolCall, UsageEntry
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run


def ended_run(cast: Cast, *, rival: bool = False, rating: int = 0, tools: tuple[str, ...] = (), **fields: Any) -> Run:
    """Create a run with its messages and its usage; `rating` and calls of `tools` if given."""
    user, assistant = (cast.mallory, cast.rival_support) if rival else (cast.alice, cast.support)
    values = {"ended_at": timezone.now() + timedelta(seconds=2), "first_token_ms": 500, "model": "m", **fields}
    run = make_run(make_conversation(user, assistant), **values)
    own = {"tenant": run.tenant, "user": run.user}
    make_message(run.conversation, "user", "When do you open?", run=run)
    answer: Message = make_message(run.conversation, "assistant", "At nine.", run=run)
    UsageEntry.objects.create(**own, assistant=assistant, run=run, model="m", cost=1_000)
    if rating:
        Feedback.objects.create(**own, message=answer, rating=rating)
    for number, name in enumerate(tools):
        ToolCall.objects.create(tenant=run.tenant, run=run, call_id=f"c{number}", name=name, status="ok")
    return run


def day_sum(cast: Cast, day: date, *, rival: bool = False, **sums: Any) -> DaySum:
    """Create the sums of a day."""
    assistant = cast.rival_support if rival else cast.support
    return DaySum.objects.create(
        tenant=assistant.tenant, assistant=assistant, day=day, **{"model": "m", "prompt_number": 1, **sums}
    )
