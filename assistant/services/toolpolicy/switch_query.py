"""Reads the stored switches of tools, as columns that any query can add."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from django.db.models import Aggregate, Exists, JSONField, Q, Subquery, TextField
from django.db.models.functions import Cast, JSONArray
from django.db.models.sql.compiler import SQLCompiler

from assistant.core.toolcalls.protocols import Policy
from assistant.models import McpServer, ToolSetting
from assistant.services.db.json_rows import JsonArrayOf
from assistant.services.toolpolicy.blocks import Block, active_blocks

# The columns that `switch_columns` adds to a row, for `read_switches`.
COLUMNS = ("switches", "has_servers", "blocks")
_secrets = ToolSetting._meta.get_field("secrets")


@dataclass(frozen=True, slots=True)
class Switch:
    """A stored tool setting: of a tenant, or of one of its assistants."""

    policy: Policy
    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class StoredSwitches:
    """A tenant's and an assistant's switches by tool name, and whether the tenant may have outside tools.

    `blocks` are the tools that are off in the whole deployment.
    """

    tenant: Mapping[str, Switch]
    assistant: Mapping[str, Switch]
    has_servers: bool
    blocks: Mapping[str, Block] = field(default_factory=dict)


class _JsonRows(Aggregate):
    """Aggregate the rows of a group into a JSON array."""

    function = "JSON_GROUP_ARRAY"
    output_field = JSONField()

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSONB_AGG")


def switch_columns(*, tenant_id: int, assistant: Any) -> dict[str, Any]:
    """Return annotations, named as `COLUMNS`, with the switches of a tenant and of one of its assistants.

    Args:
        assistant: the assistant's primary key, or an `OuterRef` to it.
    """
    rows = ToolSetting.objects.filter(Q(assistant=None) | Q(assistant=assistant), tenant_id=tenant_id).order_by()
    # `config` as text, because databases represent JSON within JSON differently.
    row = JSONArray("assistant_id", "tool", "policy", Cast("config", TextField()), "secrets")
    servers = McpServer.objects.filter(tenant_id=tenant_id, is_active=True)
    blocks = active_blocks().annotate(rows=JsonArrayOf(JSONArray("tool", "reason", "until")))
    return {
        "switches": Subquery(rows.values("tenant_id").annotate(rows=_JsonRows(row)).values("rows")),
        "has_servers": Exists(servers),
        "blocks": Subquery(blocks.values("rows")),
    }


def read_switches(
    switches: Sequence[Sequence[Any]] | None, has_servers: bool, blocks: Sequence[Sequence[Any]] | None
) -> StoredSwitches:
    """Parse the values of `COLUMNS`."""
    off = {tool: Block.of_json(reason, until) for tool, reason, until in blocks or ()}
    found = StoredSwitches({}, {}, has_servers, off)
    for owner, tool, policy, config, secrets in switches or ():
        layer = cast(dict[str, Switch], found.tenant if owner is None else found.assistant)
        layer[tool] = Switch(policy, json.loads(config), _secrets.from_db_value(secrets, None, None) or "")
    return found


def switch_of(row: ToolSetting) -> Switch:
    """Return a stored setting as a switch."""
    return Switch(policy=cast(Policy, row.policy), config=row.config, secrets=row.secrets)
