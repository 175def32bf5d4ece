"""What a copy of a tenant in the control panel takes over."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.contrib.panel.services.new_tenant import copy_with
from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant, Tenant


def copy_delegations(source: Tenant, copies: Mapping[int, Assistant]) -> None:
    """Let the copies of a tenant's assistants ask each other as the assistants do, with the same tasks."""
    for row in Delegation.objects.filter(tenant=source).prefetch_related("delegates"):
        copy = copies[row.assistant_id]
        made = Delegation.objects.create(tenant=copy.tenant, assistant=copy, task_schema=row.task_schema)
        made.delegates.set([copies[one.pk] for one in row.delegates.all() if one.pk in copies])


copy_with(copy_delegations)
