"""Reads the stored switches of tools, as columns that any query can add, and their settings and secrets.

Error messages repeat no stored value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from django.db.models import Aggregate, JSONField, Q, Subquery, TextField
from django.db.models.functions import Cast, JSONArray
from django.db.models.sql.compiler import SQLCompiler

from assistant.core.toolcalls.protocols import Policy
from assistant.models import ToolSetting
from assistant.services.db.json_rows import JsonArrayOf
from assistant.services.toolpolicy import outside_tools
from assistant.services.toolpolicy.blocks import Block, active_blocks, active_reason
from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, ask_from_thread
from assistant.toolkit.definition.settings import calls_functions, config_of


def read_config(tool: Tool, layers: Iterable[object]) -> Any:
    """Merge layers of settings, the later ones first; return the tool's `config` model, or a read-only mapping.

    Values are of the declared types, as arguments are: digits are no date, and true is no number. Validators of the
    tool's author have a bounded time, in a thread of their own.

    Raises:
        ValueError: the settings are not valid, and the message names the fields; or a validator has given no answer.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        if not isinstance(layer, Mapping):
            raise ValueError("they must be a JSON object.")
        merged |= layer
    if tool.config is None:
        return MappingProxyType(merged)
    if not calls_functions(tool.config):
        return config_of(tool.config, merged)
    try:
        return ask_from_thread(HandedIn(partial(config_of, tool.config, merged), (), "config", tool.name)).result()
    except NoAnswer as exc:
        raise ValueError(f"{exc}.") from exc


def read_secrets(layers: Iterable[str]) -> Mapping[str, str]:
    """Merge layers of secrets by name. Raises `ValueError` unless each is empty or a JSON object of strings."""
    merged: dict[str, str] = {}
    for text in layers:
        try:
            found = load_json(text) if text else {}
        except ValueError:
            raise ValueError("the secrets are not JSON.") from None
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise ValueError("the secrets must be a JSON object of strings.")
        merged |= found
    return MappingProxyType(merged)


# The columns that `switch_columns` adds to a row, for `read_switches`.
COLUMNS = ("switches", "has_outside_tools", "blocks")
_secrets = ToolSetting._meta.get_field("secrets")


@dataclass(frozen=True, slots=True)
class Switch:
    """A stored tool setting: of a tenant, or of one of its assistants.

    `block` is why the tool is off now, whatever the policy says; None if no reason is stored, or it has ended.
    """

    policy: Policy
    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: str = field(default="", repr=False)
    block: Block | None = None


@dataclass(frozen=True, slots=True)
class StoredSwitches:
    """A tenant's and an assistant's switches by tool name, and whether the tenant may have outside tools.

    `blocks` are the tools that are off in the whole deployment.
    """

    tenant: Mapping[str, Switch]
    assistant: Mapping[str, Switch]
    has_outside_tools: bool
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
    config = Cast("config", TextField())
    row = JSONArray("assistant_id", "tool", "policy", config, "secrets", active_reason(), "until")
    blocks = active_blocks().annotate(rows=JsonArrayOf(JSONArray("tool", "reason", "until")))
    return {
        "switches": Subquery(rows.values("tenant_id").annotate(rows=_JsonRows(row)).values("rows")),
        "has_outside_tools": outside_tools.has_tools(tenant_id=tenant_id),
        "blocks": Subquery(blocks.values("rows")),
    }


def read_switches(
    switches: Sequence[Sequence[Any]] | None, has_outside_tools: bool, blocks: Sequence[Sequence[Any]] | None
) -> StoredSwitches:
    """Parse the values of `COLUMNS`."""
    off = {tool: Block.of_json(reason, until) for tool, reason, until in blocks or ()}
    found = StoredSwitches({}, {}, has_outside_tools, off)
    for owner, tool, policy, config, secrets, reason, until in switches or ():
        layer = cast(dict[str, Switch], found.tenant if owner is None else found.assistant)
        block = Block.of_json(reason, until, "tenant" if owner is None else "assistant") if reason else None
        layer[tool] = Switch(policy, json.loads(config), _secrets.from_db_value(secrets, None, None) or "", block)
    return found


def unblocked(switch: Switch | None) -> Switch | None:
    """Return a switch as if its tool had not been switched off with a reason."""
    if switch is None or switch.block is None:
        return switch
    return replace(switch, block=None, policy="on" if switch.policy == "off" else switch.policy)
