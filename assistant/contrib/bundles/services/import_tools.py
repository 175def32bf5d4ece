"""Imports the switches and settings of tools, of a tenant or one of its assistants; never their secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.bundles.services.difference import Entry, changes_of, kind_of
from assistant.contrib.bundles.services.export import tool_part
from assistant.contrib.bundles.services.format import ToolPart
from assistant.contrib.bundles.services.target import Target, refused
from assistant.models import Assistant, ToolSetting
from assistant.models.fields import is_stored
from assistant.models.tool_settings import FOLLOW
from assistant.services.db.clock import database_time
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import check_end, checked_reason
from assistant.services.toolpolicy.switch_changes import Target as Switch
from assistant.services.toolpolicy.switch_changes import set_switches
from assistant.services.toolpolicy.switch_query import read_config


def import_tools(
    target: Target, assistant: Assistant | None, parts: Sequence[ToolPart], *, is_whole: bool
) -> Iterator[Entry]:
    """Set switches and settings of the tenant's tools, or of an assistant's.

    Args:
        is_whole: whether the bundle has all switches of its origin, so that others are only here.
    """
    stored = {row.tool: row for row in _stored(target, assistant)}
    changed: list[ToolPart] = []
    for bundled in parts:
        part = _as_of_now(bundled)
        name, row = _name(assistant, part.tool), stored.get(part.tool)
        try:
            _check(target, assistant, part, row)
        except ValueError as exc:
            yield refused("tool", name, exc)
            continue
        before = ToolPart(tool=part.tool, policy="on", config={}) if row is None else tool_part(row)
        changes = changes_of(
            [
                ("policy", FOLLOW if row is None else before.policy, part.policy),
                ("off because", before.reason, part.reason),
                ("off until", before.until, part.until),
                ("config", before.config, part.config),
            ]
        )
        if changes:
            changed.append(part)
        yield Entry(kind_of(changes, is_new=row is None), "tool", name, changes)
        if assistant is None:
            target.tool_configs[part.tool] = part.config
        yield from _missing_secrets(part, name, row)
    _save(target, assistant, changed, stored)
    if is_whole:
        named = {part.tool for part in parts}
        yield from (Entry("kept", "tool", _name(assistant, tool)) for tool in stored if tool not in named)


def _stored(target: Target, assistant: Assistant | None) -> Any:
    rows = ToolSetting.objects.filter(tenant=target.tenant, assistant=assistant).defer("secrets")
    return rows.annotate(secrets_are_stored=is_stored("secrets")).order_by("tool")


def _as_of_now(part: ToolPart) -> ToolPart:
    """Return a switch with the end in UTC; one whose end is past is not off for its reason any more."""
    ends_at = part.ends_at
    if ends_at is None:
        return part
    if ends_at <= database_time():
        return part.model_copy(update={"reason": "", "until": None})
    return part.model_copy(update={"until": ends_at.astimezone(UTC).isoformat()})


def _name(assistant: Assistant | None, tool: str) -> str:
    return tool if assistant is None else f"{assistant.slug}: {tool}"


def _check(target: Target, assistant: Assistant | None, part: ToolPart, row: ToolSetting | None) -> None:
    """Check what the form of a tool's settings checks. Raises `ValueError`."""
    if not target.knows_tool(part.tool):
        raise ValueError(_("There is no tool of this name here, or its MCP server is off or does not allow it."))
    if part.reason:
        checked_reason(part.reason)
        check_end(part.ends_at)
    if part.tool in catalogue.registry():
        of_tenant = {} if assistant is None else target.tool_configs.get(part.tool, {})
        read_config(catalogue.registry().get(part.tool), [of_tenant, part.config])


def _missing_secrets(part: ToolPart, name: str, row: Any) -> Iterator[Entry]:
    """Yield what has to be entered by hand before a tool works."""
    secrets = catalogue.registry().get(part.tool).secrets if part.tool in catalogue.registry() else ()
    if secrets and part.policy != "off" and not getattr(row, "secrets_are_stored", False):
        reason = _("Enter its secrets, unless they are stored elsewhere: %(names)s.")
        yield Entry("by_hand", "tool", name, reason=reason % {"names": ", ".join(secrets)})


def _save(
    target: Target, assistant: Assistant | None, parts: Sequence[ToolPart], stored: Mapping[str, ToolSetting]
) -> None:
    tenant, assistant_id = target.tenant, None if assistant is None else assistant.pk
    for policy, reason, until in dict.fromkeys((part.policy, part.reason, part.ends_at) for part in parts):
        switches = [
            Switch(tenant.pk, assistant_id, part.tool)
            for part in parts
            if (part.policy, part.reason, part.ends_at) == (policy, reason, until)
        ]
        set_switches(actor=target.actor, targets=switches, policy=policy, reason=reason, until=until)
    for part in parts:
        if part.config != (stored[part.tool].config if part.tool in stored else {}):
            rows = ToolSetting.objects.filter(tenant=tenant, assistant=assistant, tool=part.tool)
            rows.update(config=part.config, updated_at=timezone.now())
