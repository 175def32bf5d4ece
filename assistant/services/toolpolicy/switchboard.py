"""Sets the switches of tools, and collects them for the switchboard page with the rule that decides each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from django.db import transaction
from django.db.models import Count, Q

from assistant.core.toolcalls.protocols import Policy
from assistant.core.values.untrusted import OUTSIDE
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
    """One tool's switch for a tenant, or for one of its assistants if `assistant_id` is given.

    `stored` is the stored policy, or "follow" if there is none; `setting_id` is the primary key of its row. `marked` is
    the decision for a conversation that has read text from outside; for a tool with destinations, if these are not in
    trusted text.
    """

    tool_name: str
    tenant_id: int
    assistant_id: int | None
    stored: str
    setting_id: int | None
    decision: PolicyDecision
    marked: PolicyDecision

    @property
    def target(self) -> str:
        """The switch as the page's form names it: tenant, assistant and tool."""
        return f"{self.tenant_id}:{self.assistant_id or ''}:{self.tool_name}"


@dataclass(frozen=True, slots=True)
class Row:
    """A tool and its cells, in the order of the columns. It has no `Tool`, which a template would call."""

    name: str
    description: str
    permission: str | None
    is_read_only: bool
    has_destinations: bool
    has_settings: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """How many members and assistants a tenant's switches affect."""

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
    """Set the switch of a tool for a tenant or an assistant, from the next tool call on, in every process.

    `policy` is "on", "ask" or "off"; "follow" deletes the stored switch and returns None.

    Raises:
        ValueError: the tool or policy does not exist, the assistant belongs to another tenant, or a switch to delete
            also stores settings or secrets.
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
        _delete_setting(row)
        row = None
    elif row is None:
        # Not `create`: a concurrent request may have created the row.
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
    change_notices.notify()
    return row


def knows_tool(*, tenant_id: int, name: str) -> bool:
    """Return whether the catalogue or one of the tenant's outside servers has a tool of this name."""
    return name in catalogue.registry() or any(
        entry.tool.name == name for entry in remote_tools(tenant_id=tenant_id, user_id=None)
    )


def _delete_setting(row: ToolSetting | None) -> None:
    if row is None:
        return
    if row.config or row.secrets:
        raise ValueError("this switch holds settings; delete them first, or set it to on, ask or off")
    row.delete()


def reach_of(*, tenants: Iterable[Tenant]) -> dict[int, Reach]:
    """Return how many active members and assistants each tenant's switches affect, by the tenant's id."""
    rows = Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants]).annotate(
        member_count=Count("memberships", filter=Q(memberships__user__is_active=True), distinct=True),
        assistant_count=Count("assistants", filter=Q(assistants__is_active=True), distinct=True),
    )
    return {row.pk: Reach(row.member_count, row.assistant_count) for row in rows}


def board_of_tenants(*, tenants: Iterable[Tenant]) -> list[Row]:
    """Return the catalogue's tools with one column for each tenant."""
    columns = list(tenants)
    stored = _stored(ToolSetting.objects.filter(tenant__in=columns, assistant=None))
    return [_row(tool, [_cell(tool, stored, tenant) for tenant in columns]) for tool in catalogue.registry()]


def board_of_assistants(*, tenant: Tenant, assistants: Iterable[Assistant]) -> list[Row]:
    """Return all tools, outside servers' last, with a column for the tenant and one for each of its assistants."""
    columns = [None, *(assistant.pk for assistant in assistants)]
    stored = _stored(ToolSetting.objects.filter(tenant=tenant))
    local = list(catalogue.registry())
    remote = remote_tools(tenant_id=tenant.pk, user_id=None, taken={tool.name for tool in local})
    tools = [*((tool, None) for tool in local), *((entry.tool, entry.refusal) for entry in remote)]
    return [_row(tool, [_cell(tool, stored, tenant, pk, refusal) for pk in columns]) for tool, refusal in tools]


def _row(tool: Tool, cells: Iterable[Cell]) -> Row:
    return Row(
        name=tool.name,
        description=tool.description,
        permission=tool.permission,
        is_read_only=tool.read_only,
        has_destinations=bool(tool.destinations),
        has_settings=bool(tool.config or tool.secrets),
        cells=tuple(cells),
    )


def _stored(rows: Iterable[ToolSetting]) -> Stored:
    return {(row.tenant_id, row.assistant_id, row.tool): row for row in rows}


def _cell(
    tool: Tool, stored: Stored, tenant: Tenant, assistant_id: int | None = None, refusal: str | None = None
) -> Cell:
    tenant_setting = stored.get((tenant.pk, None, tool.name))
    own = stored.get((tenant.pk, assistant_id, tool.name))
    assistant_setting = None if assistant_id is None else own
    decide_with = partial(
        decide,
        tool,
        tenant=switch_of(tenant_setting) if tenant_setting else None,
        assistant=switch_of(assistant_setting) if assistant_setting else None,
        refusal=refusal,
        after_untrusted=cast(Policy, tenant.after_untrusted),
    )
    return Cell(
        tool_name=tool.name,
        tenant_id=tenant.pk,
        assistant_id=assistant_id,
        stored=own.policy if own else FOLLOW,
        setting_id=own.pk if own else None,
        decision=decide_with(),
        marked=decide_with(read=(OUTSIDE,)),
    )
