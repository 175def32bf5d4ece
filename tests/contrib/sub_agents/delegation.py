"""Lets assistants ask others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant


def let_ask(assistant: Assistant, *others: Assistant) -> None:
    row, _ = Delegation.objects.get_or_create(tenant=assistant.tenant, assistant=assistant)
    row.delegates.add(*others)


def set_task(assistant: Assistant, schema: Mapping[str, Any]) -> None:
    """Set what others must send an assistant."""
    Delegation.objects.update_or_create(
        tenant=assistant.tenant, assistant=assistant, defaults={"task_schema": dict(schema)}
    )


def asked_by(assistant: Assistant) -> list[Assistant]:
    """Return the assistants that one may ask."""
    return list(Assistant.objects.filter(delegators__assistant=assistant).order_by("pk"))
