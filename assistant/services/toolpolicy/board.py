"""The board of all tools by tenants: what each cell says. Switches that are alike are decided once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from assistant.core.toolcalls.protocols import Policy
from assistant.core.values.untrusted import OUTSIDE
from assistant.models import Tenant, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import Block
from assistant.services.toolpolicy.policy import PolicyDecision, decide
from assistant.services.toolpolicy.switch_changes import FOLLOW
from assistant.services.toolpolicy.switch_query import Switch
from assistant.toolkit import Tool

State = Literal["", "on", "ask", "off", "own"]


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A tool for a tenant.

    `own` is the stored policy, or "follow"; `decision` what holds, and `marked` what holds in a conversation that has
    read text from outside.
    """

    own: str
    decision: PolicyDecision
    marked: PolicyDecision


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A tenant and its cells, in the order of the tools."""

    tenant: Tenant
    cells: tuple[BoardCell, ...]


def tools_of_board(*, words: str = "", changes_things: bool = False, asks: bool = False) -> list[Tool]:
    """Return the catalogue's tools.

    Args:
        words: a part of the name or description.
        changes_things: only those that are not read-only.
        asks: only those that themselves ask before every call or some.
    """
    wanted = words.lower()
    return [
        tool
        for tool in catalogue.registry()
        if (wanted in tool.name.lower() or wanted in tool.description.lower())
        and not (changes_things and tool.read_only)
        and not (asks and tool.requires_approval is False)
    ]


def read_board(
    *,
    tenants: Collection[Tenant],
    tools: Sequence[Tool],
    blocks: Mapping[str, Block],
    instead: Callable[[int, str], str | None] | None = None,
) -> list[BoardRow]:
    """Return a row for each tenant, with one query.

    Args:
        blocks: the tools that are off in the whole deployment, from `read_blocks`; none to see what the switches say.
        instead: of a tenant's id and a tool's name, the policy that the cell is shown with instead of the stored one,
            "follow" for none; None leaves it. So a page can say what a change would do.
    """
    decided: dict[Any, tuple[PolicyDecision, PolicyDecision]] = {}
    stored = _stored(tenants, tools)
    rows = []
    for tenant in tenants:
        cells = []
        for tool in tools:
            switch = stored.get((tenant.pk, tool.name))
            policy = instead(tenant.pk, tool.name) if instead is not None else None
            if policy is not None:
                switch = _with_policy(switch, policy)
            key = (tool.name, tenant.after_untrusted, None if switch is None else switch.policy)
            if switch is not None and (switch.config or switch.secrets):
                pair = _decide(tool, tenant, switch, blocks.get(tool.name))
            elif (known := decided.get(key)) is not None:
                pair = known
            else:
                pair = decided[key] = _decide(tool, tenant, switch, blocks.get(tool.name))
            cells.append(BoardCell(FOLLOW if switch is None else switch.policy, *pair))
        rows.append(BoardRow(tenant, tuple(cells)))
    return rows


def with_state(rows: Sequence[BoardRow], state: State) -> list[BoardRow]:
    """Return the rows with a cell in a state: "on", "ask" or "off" as decided, or "own" for a switch of its own."""
    return [row for row in rows if any(is_in_state(cell, state) for cell in row.cells)] if state else list(rows)


def is_in_state(cell: BoardCell, state: State) -> bool:
    return not state or (cell.own != FOLLOW if state == "own" else cell.decision.policy == state)


def _stored(tenants: Collection[Tenant], tools: Sequence[Tool]) -> dict[tuple[int, str], Switch]:
    rows = ToolSetting.objects.filter(
        tenant__in=[tenant.pk for tenant in tenants], assistant=None, tool__in=[tool.name for tool in tools]
    )
    # Values, because rows of a model take ten times as long to make.
    columns = rows.order_by().values_list("tenant_id", "tool", "policy", "config", "secrets")
    return {
        (tenant, tool): Switch(cast(Policy, policy), config, secrets)
        for tenant, tool, policy, config, secrets in columns
    }


def _with_policy(switch: Switch | None, policy: str) -> Switch | None:
    if policy == FOLLOW:
        # A switch that holds settings is left, because deleting it would delete them.
        return switch if switch is not None and (switch.config or switch.secrets) else None
    kept = Switch("on") if switch is None else switch
    return Switch(cast(Policy, policy), kept.config, kept.secrets)


def _decide(
    tool: Tool, tenant: Tenant, switch: Switch | None, block: Block | None
) -> tuple[PolicyDecision, PolicyDecision]:
    decide_with = partial(
        decide,
        tool,
        tenant=switch,
        assistant=None,
        block=block,
        after_untrusted=cast(Policy, tenant.after_untrusted),
    )
    return decide_with(), decide_with(read=(OUTSIDE,))
