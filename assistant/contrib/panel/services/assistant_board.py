"""Collects a tenant's switches for its page, with the rule that decides each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from django.apps import apps
from django.db.models import Count, Q
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from assistant.contrib.panel.services.last_switches import LastSwitch, last_switches
from assistant.core.toolcalls.protocols import Policy
from assistant.core.values.untrusted import OUTSIDE
from assistant.models import Assistant, Tenant, ToolSetting
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.blocks import Block, active_reason, read_blocks
from assistant.services.toolpolicy.policy import PolicyDecision, decide
from assistant.services.toolpolicy.rules import Whose
from assistant.services.toolpolicy.switch_query import Switch
from assistant.toolkit import Tool

Stored = dict[tuple[int, int | None, str], ToolSetting]


@dataclass(frozen=True, slots=True)
class Cell:
    """One tool's switch for a tenant, or for one of its assistants if `assistant_id` is given.

    `stored` is the stored policy, or "follow" if there is none; `setting_id` is the primary key of its row. `marked` is
    the decision for a conversation that has read text from outside; for a tool with destinations, if these are not in
    trusted text. `last` is the last change of the switch.
    """

    tool_name: str
    tenant_id: int
    assistant_id: int | None
    stored: str
    setting_id: int | None
    decision: PolicyDecision
    marked: PolicyDecision
    last: LastSwitch | None = None

    @property
    def target(self) -> str:
        """The switch as the page's form names it: tenant, assistant and tool."""
        return f"{self.tenant_id}:{self.assistant_id or ''}:{self.tool_name}"


@dataclass(frozen=True, slots=True)
class Row:
    """A tool and its cells, in the order of the columns. It has no `Tool`, which a template would call."""

    name: str
    group: str
    description: str
    permission: str | None
    is_read_only: bool
    has_destinations: bool
    has_settings: bool
    is_outside: bool
    is_blocked: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool that a tenant may have: its group is the external server that offers it, or its app.

    `refusal` says why a server's tool cannot be used now, and is empty if it can.
    """

    tool: Tool
    group: str
    refusal: str | None = None

    def matches(self, *, words: str, group: str) -> bool:
        """Return whether its name or description has the words, and whether it is of the group; "" for any."""
        texts = (self.tool.name, self.tool.title or "", self.tool.description)
        return group in ("", self.group) and any(words.lower() in text.lower() for text in texts)


@dataclass(frozen=True, slots=True)
class Reach:
    """How many members and assistants a tenant's switches affect."""

    members: int
    assistants: int


def reach_of(*, tenants: Iterable[Tenant]) -> dict[int, Reach]:
    """Return how many active members and assistants each tenant's switches affect, by the tenant's id."""
    rows = Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants]).annotate(
        member_count=Count("memberships", filter=Q(memberships__user__is_active=True), distinct=True),
        assistant_count=Count("assistants", filter=Q(assistants__is_active=True), distinct=True),
    )
    return {row.pk: Reach(row.member_count, row.assistant_count) for row in rows}


def tools_of_tenant(tenant: Tenant) -> list[ListedTool]:
    """Return all tools that a tenant may have, by groups: the apps' first, then those of its external servers."""
    local = [ListedTool(tool, _app_of(tool)) for tool in catalogue.registry()]
    taken = {listed.tool.name for listed in local}
    remote = outside_tools.tools_of(tenant_id=tenant.pk, user_id=None, taken=taken)
    local += [ListedTool(entry.tool, entry.server or _("External servers"), entry.refusal) for entry in remote]
    order = {name: place for place, name in enumerate(dict.fromkeys(listed.group for listed in local))}
    return sorted(local, key=lambda listed: order[listed.group])


def _app_of(tool: Tool) -> str:
    """Return the name of the app that a tool is of, without the first word that the optional apps have in common."""
    config = apps.get_containing_app_config(getattr(tool.handler, "__module__", None) or "")
    name = "" if config is None else str(config.verbose_name)
    return capfirst(name.partition(": ")[2] or name) or _("This deployment")


def board_of_assistants(
    *, tenant: Tenant, assistants: Iterable[Assistant], tools: Sequence[ListedTool] | None = None
) -> list[Row]:
    """Return tools with a column for the tenant and one for each of its assistants.

    Args:
        tools: some of `tools_of_tenant`; None for all.
    """
    columns = [(None, ""), *((assistant.pk, f"{assistant.slug}: ") for assistant in assistants)]
    stored = _stored(ToolSetting.objects.filter(tenant=tenant).annotate(active=active_reason()))
    blocks = read_blocks()
    last = last_switches(tenants=[tenant])
    return [
        _row(
            listed,
            [
                replace(
                    _cell(listed.tool, stored, tenant, pk, refusal=listed.refusal, block=blocks.get(listed.tool.name)),
                    last=last.get((tenant.pk, prefix + listed.tool.name)),
                )
                for pk, prefix in columns
            ],
            blocks.get(listed.tool.name),
        )
        for listed in (tools_of_tenant(tenant) if tools is None else tools)
    ]


def _row(listed: ListedTool, cells: Iterable[Cell], block: Block | None) -> Row:
    tool = listed.tool
    return Row(
        name=tool.name,
        group=listed.group,
        description=tool.description,
        permission=tool.permission,
        is_read_only=tool.read_only,
        has_destinations=bool(tool.destinations),
        has_settings=bool(tool.config or tool.secrets),
        is_outside=tool.name not in catalogue.registry(),
        is_blocked=block is not None,
        cells=tuple(cells),
    )


def _stored(rows: Iterable[ToolSetting]) -> Stored:
    return {(row.tenant_id, row.assistant_id, row.tool): row for row in rows}


def _cell(
    tool: Tool,
    stored: Stored,
    tenant: Tenant,
    assistant_id: int | None,
    *,
    refusal: str | None,
    block: Block | None,
) -> Cell:
    tenant_setting = stored.get((tenant.pk, None, tool.name))
    own = stored.get((tenant.pk, assistant_id, tool.name))
    assistant_setting = None if assistant_id is None else own
    decide_with = partial(
        decide,
        tool,
        tenant=_switch_of(tenant_setting) if tenant_setting else None,
        assistant=_switch_of(assistant_setting) if assistant_setting else None,
        block=block,
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


def _switch_of(row: Any) -> Switch:
    """Return a `ToolSetting` as a switch; it has the reason that holds now as `active`."""
    whose: Whose = "tenant" if row.assistant_id is None else "assistant"
    block = Block(row.active, row.until, whose) if row.active else None
    return Switch(policy=cast(Policy, row.policy), config=row.config, secrets=row.secrets, block=block)
