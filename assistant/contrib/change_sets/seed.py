"""What `assistant_seed` makes of change sets: a draft, one that is on for a share, and one that was taken back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from assistant.contrib.change_sets.models import AppliedChange, ChangeSet
from assistant.contrib.change_sets.services.items import LIMIT, PROMPT, SETTING, SWITCH, Item
from assistant.models import PromptVersion

TIMED = (ChangeSet, AppliedChange)
State = ChangeSet.State


def rows_of(chance: random.Random, draft: PromptVersion, owner: Any, now: datetime) -> Iterator[Any]:
    """Yield the unsaved sets of one tenant in four, and what those that have begun have changed."""
    if chance.random() >= 0.25:
        return
    assistant = draft.assistant
    tenant = assistant.tenant
    of_tenant = {"tenant": tenant, "created_by": owner, "whom": ChangeSet.Whom.TENANT}
    yield ChangeSet(
        **of_tenant,
        name="Shorter answers",
        reason="Members asked for it",
        items=[
            Item(PROMPT, assistant.slug, "", f"You are {assistant.name}. Answer in two sentences.").stored(),
            Item(SWITCH, "", "refund", "ask").stored(),
            Item(LIMIT, "", "member_messages_per_day", "200").stored(),
        ],
        created_at=now - timedelta(hours=3),
    )
    setting = Item(SETTING, assistant.slug, "history_messages", "30")
    rollout = ChangeSet(
        **of_tenant,
        name="Longer memory",
        reason="Long conversations forget their beginning",
        percent=10,
        watched_answers=200,
        items=[setting.stored()],
        state=State.ON,
        submitted_by=owner,
        created_at=now - timedelta(days=4),
        began_at=now - timedelta(days=3),
    )
    yield rollout
    yield AppliedChange(
        tenant=tenant,
        change_set=rollout,
        assistant=assistant,
        kind=setting.kind,
        name=setting.name,
        before=assistant.history_messages,
        after=30,
        percent=10,
        created_at=now - timedelta(days=3),
    )
    switch = Item(SWITCH, "", "refund", "off")
    ended = ChangeSet(
        **of_tenant,
        name="No refunds in the sale",
        reason="The sale",
        items=[switch.stored()],
        state=State.ENDED,
        submitted_by=owner,
        created_at=now - timedelta(days=9),
        began_at=now - timedelta(days=9),
        ended_at=now - timedelta(days=2),
    )
    yield ended
    yield AppliedChange(
        tenant=tenant,
        change_set=ended,
        kind=switch.kind,
        name=switch.name,
        before={"policy": "on", "reason": "", "until": None},
        after={"policy": "off", "reason": "The sale", "until": None},
        is_in_force=False,
        created_at=now - timedelta(days=9),
        ended_at=now - timedelta(days=2),
    )
