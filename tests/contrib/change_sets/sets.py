"""Makes change sets for tests."""

from __future__ import annotations

from datetime import datetime

from assistant.contrib.change_sets.models import EVERYTHING, ChangeSet, TenantLabel
from assistant.contrib.change_sets.services.acts import add_item
from assistant.contrib.change_sets.services.items import LIMIT, PROMPT, SETTING, SWITCH, checked_item
from assistant.models import Assistant, Tenant
from tests.base import Cast

# Each is the kind, the assistant, the name and the value of a change.
Change = tuple[str, str, str, str]
NEW_PROMPT: Change = (PROMPT, "support", "", "You are brief.")
NEW_MODEL: Change = (SETTING, "support", "model", "large")
TOOL_OFF: Change = (SWITCH, "", "current_time", "off")
TOOL_ASKS: Change = (SWITCH, "support", "current_time", "ask")
FEWER_ROUNDS: Change = (SETTING, "support", "max_rounds", "3")
FEWER_MESSAGES: Change = (LIMIT, "", "member_messages_per_day", "40")
EVERY_KIND = (NEW_PROMPT, NEW_MODEL, TOOL_OFF, TOOL_ASKS, FEWER_ROUNDS, FEWER_MESSAGES)


def change_set(
    cast: Cast,
    *changes: Change,
    tenant: Tenant | None = None,
    label: str = "",
    whom: str = ChangeSet.Whom.TENANT,
    percent: int = EVERYTHING,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> ChangeSet:
    """Create a draft of root's with these changes; for Acme, if nothing else is said."""
    row = ChangeSet.objects.create(
        name="Brief answers",
        reason="People asked for it",
        whom=whom,
        tenant=tenant or (cast.acme if whom == ChangeSet.Whom.TENANT else None),
        label=label,
        percent=percent,
        starts_at=starts_at,
        ends_at=ends_at,
        created_by=cast.root,
    )
    for kind, assistant, name, value in changes:
        item = checked_item({"kind": kind, "assistant": assistant, "name": name, "value": value})
        row = add_item(change_set=row, item=item, actor=cast.root)
    return row


def give_label(tenant: Tenant, label: str = "pilot") -> None:
    TenantLabel.objects.create(tenant=tenant, label=label)


def prompt_of(assistant: Assistant) -> str:
    """Return the published prompt of an assistant; "" for none."""
    return assistant.prompt_versions.filter(status="published").values_list("text", flat=True).first() or ""
