"""Answers to requests for tools: which switches are in the way, and setting them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from assistant.contrib.tool_requests.models import ToolRequest
from assistant.contrib.tool_requests.services.asking import answered
from assistant.models import Assistant, ToolSetting
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor
from assistant.services.toolpolicy.policy import EffectiveTool, effective_tools
from assistant.services.toolpolicy.switch_changes import set_switch


class StillOff(ValueError):
    """The tool stays off whatever the tenant switches; people can read why."""


class Answered(ValueError):
    """Somebody else has answered meanwhile."""


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A switch that keeps a tool off: of an assistant, or for None of the whole tenant, and its row if it has one."""

    assistant: Assistant | None
    setting: ToolSetting | None


def tool_for(row: ToolRequest) -> EffectiveTool | None:
    """Return the asked-for tool as the member's assistant has it now; None if there is no such tool any more."""
    tools = effective_tools(tenant_id=row.tenant_id, user_id=row.user_id, assistant_id=row.conversation.assistant_id)
    return next((entry for entry in tools if entry.tool.name == row.tool), None)


def in_the_way(row: ToolRequest) -> list[InTheWay]:
    """Return the switches that have to be set so that the member can use the tool, the tenant's first."""
    settings = ToolSetting.objects.filter(tenant_id=row.tenant_id, tool=row.tool)
    by_owner = {one.assistant_id: one for one in settings.select_related("assistant")}
    entry = tool_for(row)
    is_on_without = entry is not None and (entry.tool.enabled_by_default or entry.is_remote)
    assistant = row.conversation.assistant
    found = []
    own = by_owner.get(None)
    if _keeps_off(own) or (own is None and not is_on_without):
        found.append(InTheWay(None, own))
    if _keeps_off(by_owner.get(assistant.pk)):
        found.append(InTheWay(assistant, by_owner[assistant.pk]))
    return found


def _keeps_off(setting: ToolSetting | None) -> bool:
    return setting is not None and (setting.policy == ToolSetting.Policy.OFF or bool(setting.reason))


@transaction.atomic
def grant(*, actor: Actor, row: ToolRequest, policy: str, answer: str) -> None:
    """Set the switches that are in the way, and tell the member. The caller has checked that `actor` may set them.

    Args:
        policy: "on" or "ask".
        answer: what the member reads; "" for the bare yes.

    Raises:
        Answered: somebody else has answered meanwhile.
        StillOff: another rule keeps the tool off; nothing is changed.
    """
    if not answered(actor=actor, row=row, state=ToolRequest.State.GRANTED, answer=answer):
        raise Answered(_("Somebody has answered this request meanwhile."))
    for one in in_the_way(row):
        set_switch(actor=actor, tenant=row.tenant, assistant=one.assistant, tool=row.tool, policy=policy)
    entry = tool_for(row)
    if entry is None or entry.policy == "off":
        why = _("There is no such tool any more.") if entry is None else entry.rule
        raise StillOff(why)
    _record(actor, "toolrequest.approve", row)


@transaction.atomic
def settle(*, actor: Actor, row: ToolRequest, is_yes: bool, answer: str) -> None:
    """Tell the member yes or no, without setting a switch. Raises `Answered` if somebody else was faster."""
    state = ToolRequest.State.GRANTED if is_yes else ToolRequest.State.DECLINED
    if not answered(actor=actor, row=row, state=state, answer=answer):
        raise Answered(_("Somebody has answered this request meanwhile."))
    _record(actor, "toolrequest.respond" if is_yes else "toolrequest.reject", row)


def _record(actor: Actor, action: str, row: ToolRequest) -> None:
    audit_trail.record(
        actor=actor,
        action=action,
        target=row.tool or _("A tool without a name"),
        tenant=row.tenant,
        details={"id": row.pk},
    )
