"""The switches of tools: who turns one, whom it reaches, and the board that shows them all with their rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Q

from assistant.models import Assistant, Tenant, ToolSetting
from assistant.services.mcp_servers.tools import remote_tools
from assistant.services.tenancy import audit_trail, change_notices
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.policy import PolicyDecision, decide
from assistant.services.toolpolicy.switch_query import switch_of
from assistant.toolkit import Tool

POLICIES = tuple(ToolSetting.Policy.values)
FOLLOW = "follow"
Stored = dict[tuple[int, int | None, str], ToolSetting]


@dataclass(frozen=True, slots=True)
class Cell:
    """What the board shows for one tool of one tenant, or of one of its assistants.

    `stored` is the switch as it was set, or "follow" without one, and `setting_id` its row; `decision` is what comes
    of it. Without an `assistant_id` the cell is the tenant's.
    """

    tool_name: str
    tenant_id: int
    assistant_id: int | None
    stored: str
    setting_id: int | None
    decision: PolicyDecision

    @property
    def target(self) -> str:
        """What names the cell's switch to `set_switch`'s page: tenant, assistant and tool."""
        return f"{self.tenant_id}:{self.assistant_id or ''}:{self.tool_name}"


@dataclass(frozen=True, slots=True)
class Row:
    """One tool, in words (a template would call the tool itself), and its cells in the order of the board's columns."""

    name: str
    description: str
    permission: str | None
    is_read_only: bool
    has_settings: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """Whom a tenant's switches affect."""

    members: int
    assistants: int


@transaction.atomic
def set_switch(
    *,
    actor: audit_trail.Actor,
    tenant: Tenant,
    assistant: Assistant | None,
    tool: str,
    policy: str,
) -> ToolSetting | None:
    """Turn a switch; it holds for the next tool call, in every process.

    `policy` is on, ask or off; "follow" takes an assistant's or tenant's own setting back where it holds no
    settings or secrets besides, and returns None.

    Raises:
        ValueError: no such tool or policy, or the assistant belongs to another tenant.
    """
    if policy not in (*POLICIES, FOLLOW):
        raise ValueError(f"a policy is any of {', '.join(POLICIES)} or {FOLLOW}")
    if not knows_tool(tenant_id=tenant.pk, name=tool):
        raise ValueError(f"this deployment has no tool {tool!r}")
    if assistant is not None and assistant.tenant_id != tenant.pk:
        raise ValueError("the assistant belongs to another tenant")
    key: dict[str, Any] = {"tenant": tenant, "assistant": assistant, "tool": tool}
    row: ToolSetting | None = ToolSetting.objects.select_for_update().filter(**key).first()
    before = row.policy if row is not None else FOLLOW
    if policy == FOLLOW:
        _take_back(row)
        row = None
    elif row is None:
        # Two clicks at once make one row.
        row, _ = ToolSetting.objects.update_or_create(**key, defaults={"policy": policy})
    else:
        row.policy = policy
        row.save(update_fields=["policy", "updated_at"])
    audit_trail.record(
        actor=actor,
        action="tool.switch",
        target=f"{assistant.slug}: {tool}" if assistant else tool,
        tenant=tenant,
        details={"policy": policy, "before": before},
    )
    change_notices.announce()
    return row


def knows_tool(*, tenant_id: int, name: str) -> bool:
    """Whether the catalogue, or one of the tenant's outside servers, has a tool of this name."""
    return name in catalogue.registry() or any(
        entry.tool.name == name for entry in remote_tools(tenant_id=tenant_id, user_id=None)
    )


def _take_back(row: ToolSetting | None) -> None:
    if row is None:
        return
    if row.config or row.secrets:
        raise ValueError("this switch holds settings; delete them first, or set it to on, ask or off")
    row.delete()


def reach_of(*, tenants: Iterable[Tenant]) -> dict[int, Reach]:
    """How many active members and assistants each tenant's switches affect, by the tenant's id."""
    rows = Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants]).annotate(
        member_count=Count("memberships", filter=Q(memberships__user__is_active=True), distinct=True),
        assistant_count=Count("assistants", filter=Q(assistants__is_active=True), distinct=True),
    )
    return {row.pk: Reach(row.member_count, row.assistant_count) for row in rows}


def board_of_tenants(*, tenants: Iterable[Tenant]) -> list[Row]:
    """One column for each tenant."""
    columns = [tenant.pk for tenant in tenants]
    stored = _stored(ToolSetting.objects.filter(tenant_id__in=columns, assistant=None))
    return [_row(tool, [_cell(tool, stored, pk) for pk in columns]) for tool in catalogue.registry()]


def board_of_assistants(*, tenant: Tenant, assistants: Iterable[Assistant]) -> list[Row]:
    """The tenant's own column first, then one for each of its assistants; outside servers' tools stand last."""
    columns = [None, *(assistant.pk for assistant in assistants)]
    stored = _stored(ToolSetting.objects.filter(tenant=tenant))
    local = list(catalogue.registry())
    remote = remote_tools(tenant_id=tenant.pk, user_id=None, taken={tool.name for tool in local})
    told = [*((tool, None) for tool in local), *((entry.tool, entry.refusal) for entry in remote)]
    return [_row(tool, [_cell(tool, stored, tenant.pk, pk, refusal) for pk in columns]) for tool, refusal in told]


def _row(tool: Tool, cells: Iterable[Cell]) -> Row:
    return Row(
        name=tool.name,
        description=tool.description,
        permission=tool.permission,
        is_read_only=tool.read_only,
        has_settings=bool(tool.config or tool.secrets),
        cells=tuple(cells),
    )


def _stored(rows: Iterable[ToolSetting]) -> Stored:
    return {(row.tenant_id, row.assistant_id, row.tool): row for row in rows}


def _cell(
    tool: Tool, stored: Stored, tenant_id: int, assistant_id: int | None = None, refusal: str | None = None
) -> Cell:
    of_tenant = stored.get((tenant_id, None, tool.name))
    own = stored.get((tenant_id, assistant_id, tool.name))
    of_assistant = None if assistant_id is None else own
    decision = decide(
        tool,
        tenant=switch_of(of_tenant) if of_tenant else None,
        assistant=switch_of(of_assistant) if of_assistant else None,
        refusal=refusal,
    )
    return Cell(
        tool_name=tool.name,
        tenant_id=tenant_id,
        assistant_id=assistant_id,
        stored=own.policy if own else FOLLOW,
        setting_id=own.pk if own else None,
        decision=decision,
    )
