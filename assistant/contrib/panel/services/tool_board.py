"""The board of all tools by tenants: what each cell says. Switches that are alike are decided once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from assistant.core.toolcalls.protocols import Policy
from assistant.core.values.untrusted import OUTSIDE
from assistant.models import Tenant, ToolSetting
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.blocks import Block, active_reason
from assistant.services.toolpolicy.outside_tools import OutsideTool, OutsideTools, ToolsByTenant
from assistant.services.toolpolicy.policy import PolicyDecision, decide, facts_of
from assistant.services.toolpolicy.switch_query import Switch
from assistant.toolkit import Tool

State = Literal["", "on", "ask", "off", "own"]
# Whose tools: all, this deployment's own, or those of the tenants' external servers.
Source = Literal["", "own", "outside"]
# Outside tools that a board shows if it is asked for them, those of most tenants first: every server may list 200.
MAX_OUTSIDE = 40
# And if it is not asked.
FOLDED_OUTSIDE = 12
# The decision, and the decision after text from outside was read.
_Pair = tuple[PolicyDecision, PolicyDecision]


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A tool for a tenant.

    `own` is the stored policy, or "follow"; `decision` what holds, and `marked` what holds in a conversation that has
    read text from outside.
    """

    tool: Tool
    own: str
    decision: PolicyDecision
    marked: PolicyDecision


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A tenant and its cells, in the order of the tools; None for tools of external servers that it does not have."""

    tenant: Tenant
    cells: tuple[BoardCell | None, ...]


@dataclass(frozen=True, slots=True)
class BoardTools:
    """The tools of a board: the catalogue's, then those of external servers. `left_out` counts further outside ones."""

    tools: tuple[Tool, ...]
    outside: ToolsByTenant
    left_out: int = 0


def tools_of_board(
    *,
    tenants: Collection[int],
    words: str = "",
    source: Source = "",
    changes_things: bool = False,
    asks: bool = False,
) -> BoardTools:
    """Return the catalogue's tools and those of the tenants' external servers; three queries at most.

    Args:
        tenants: the ids of the tenants that are shown.
        words: a part of the name or description.
        source: whose tools.
        changes_things: only those that are not read-only.
        asks: only those that themselves ask before every call or some.
    """
    wanted = words.lower()
    local = [
        tool
        for tool in (catalogue.registry() if source != "outside" else ())
        if (wanted in tool.name.lower() or wanted in tool.description.lower())
        and not (changes_things and tool.read_only)
        and not (asks and tool.requires_approval is False)
    ]
    if source == "own":
        return BoardTools(tuple(local), {})
    is_asked = bool(words or source or changes_things or asks)
    limit = MAX_OUTSIDE if is_asked else min(FOLDED_OUTSIDE, MAX_OUTSIDE)
    outside = outside_tools.most_common(
        tenants=tenants, limit=limit, words=words, changes_things=changes_things, asks=asks
    )
    return _joined(local, outside)


def tools_named(names: Collection[str], *, tenants: Collection[int]) -> BoardTools:
    """Return the tools of these names, of the catalogue and of the tenants' external servers; three queries at most."""
    known = catalogue.registry()
    local = [tool for tool in known if tool.name in names]
    return _joined(local, outside_tools.named(tenants=tenants, names=[name for name in names if name not in known]))


def _joined(local: Sequence[Tool], found: OutsideTools) -> BoardTools:
    # Local tools have precedence.
    outside = [tool for tool in found.tools if tool.name not in catalogue.registry()]
    return BoardTools((*local, *outside), found.by_tenant, found.left_out)


def read_board(
    *,
    tenants: Collection[Tenant],
    tools: BoardTools,
    blocks: Mapping[str, Block],
    instead: Callable[[int, str], str | None] | None = None,
) -> list[BoardRow]:
    """Return a row for each tenant, with one query.

    Args:
        blocks: the tools that are off in the whole deployment, from `read_blocks`; none to see what the switches say.
        instead: of a tenant's id and a tool's name, the policy that the cell is shown with instead of the stored one,
            "follow" for none; None leaves it. With this, a page can show what a change would do.
    """
    decisions = _Decisions(blocks)
    stored = _stored(tenants, tools.tools)
    rows = []
    for tenant in tenants:
        cells: list[BoardCell | None] = []
        for tool, entry in _tools_of(tenant, tools):
            if tool is None:
                cells.append(None)
                continue
            switch = stored.get((tenant.pk, tool.name))
            policy = instead(tenant.pk, tool.name) if instead is not None else None
            if policy is not None:
                switch = _with_policy(switch, policy)
            pair = decisions.of(tool, cast(Policy, tenant.after_untrusted), switch, entry)
            cells.append(BoardCell(tool, FOLLOW if switch is None else switch.policy, *pair))
        rows.append(BoardRow(tenant, tuple(cells)))
    return rows


def _tools_of(tenant: Tenant, tools: BoardTools) -> list[tuple[Tool | None, OutsideTool | None]]:
    """Return the tenant's own tool for each column, with the external server's entry if it is of one."""
    known = catalogue.registry()
    outside = tools.outside.get(tenant.pk, {})
    found: list[tuple[Tool | None, OutsideTool | None]] = []
    for tool in tools.tools:
        if tool.name in known:
            found.append((tool, None))
        else:
            entry = outside.get(tool.name)
            found.append((None if entry is None else entry.tool, entry))
    return found


class _Decisions:
    """Decides on cells; those that are alike once."""

    def __init__(self, blocks: Mapping[str, Block]) -> None:
        self._blocks = blocks
        self._decided: dict[Any, _Pair] = {}

    def of(self, tool: Tool, after_untrusted: Policy, switch: Switch | None, entry: OutsideTool | None) -> _Pair:
        block = self._blocks.get(tool.name)
        refusal = None if entry is None else entry.refusal
        if switch is not None and (switch.config or switch.secrets):
            return _decide(tool, after_untrusted, switch, block, refusal)
        # Not by the name alone: tenants may have different outside tools of one name.
        facts = tool.name if entry is None else facts_of(tool)
        own = None if switch is None else (switch.policy, switch.block)
        key = (facts, after_untrusted, own, refusal, block)
        if (known := self._decided.get(key)) is not None:
            return known
        self._decided[key] = _decide(tool, after_untrusted, switch, block, refusal)
        return self._decided[key]


def with_state(rows: Sequence[BoardRow], state: State) -> list[BoardRow]:
    """Return the rows with a cell in a state: "on", "ask" or "off" as decided, or "own" for a switch of its own."""
    if not state:
        return list(rows)
    return [row for row in rows if any(cell is not None and is_in_state(cell, state) for cell in row.cells)]


def is_in_state(cell: BoardCell, state: State) -> bool:
    return not state or (cell.own != FOLLOW if state == "own" else cell.decision.policy == state)


def _stored(tenants: Collection[Tenant], tools: Sequence[Tool]) -> dict[tuple[int, str], Switch]:
    rows = ToolSetting.objects.filter(
        tenant__in=[tenant.pk for tenant in tenants], assistant=None, tool__in=[tool.name for tool in tools]
    )
    # Values, because rows of a model take ten times as long to make.
    rows = rows.annotate(active=active_reason()).order_by()
    columns = rows.values_list("tenant_id", "tool", "policy", "config", "secrets", "active", "until")
    return {
        (tenant, tool): Switch(
            cast(Policy, policy), config, secrets, Block(reason, until, "tenant") if reason else None
        )
        for tenant, tool, policy, config, secrets, reason, until in columns
    }


def _with_policy(switch: Switch | None, policy: str) -> Switch | None:
    if policy == FOLLOW:
        # A switch that has settings is kept, because deleting it would delete them.
        return switch if switch is not None and (switch.config or switch.secrets) else None
    kept = Switch("on") if switch is None else switch
    return Switch(cast(Policy, policy), kept.config, kept.secrets)


def _decide(
    tool: Tool, after_untrusted: Policy, switch: Switch | None, block: Block | None, refusal: str | None = None
) -> _Pair:
    decide_with = partial(
        decide,
        tool,
        tenant=switch,
        assistant=None,
        block=block,
        refusal=refusal,
        after_untrusted=after_untrusted,
    )
    return decide_with(), decide_with(read=(OUTSIDE,))
