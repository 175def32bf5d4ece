"""What a member may ask for in a conversation, asking for it, and what they were answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.tool_requests.models import MAX_QUESTION, ToolRequest
from assistant.models import Conversation, Membership, Message, Tenant, ToolCall
from assistant.services.db.clock import DatabaseTime
from assistant.services.eventlog.member_notices import notify
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor, actor_of
from assistant.services.tenancy.members import Member, person_name
from assistant.services.text import format_timestamp
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.titles import titles_of

# The subject of the notices to a member's connections.
ABOUT = "tool_requests"
# Of one member in a tenant that wait, and of a conversation that are listed.
MAX_OPEN = 20
MAX_LISTED = 50
# Tools of one conversation that can be asked for.
MAX_ASKABLE = 50
# How long an answer is told that its member has not seen.
TOLD_FOR = timedelta(days=30)


class AskingRefused(ValueError):
    """A request cannot be stored so; people can read the message."""


class AskingConflict(AskingRefused):
    """It cannot be stored as things are: the tool cannot be asked for here, was asked for already, or too many wait."""


@dataclass(frozen=True, slots=True)
class Askable:
    """A tool that a member may ask for: its name, its name for people, and why it is off, where they are told."""

    name: str
    title: str
    why: str = ""


def askable_in(conversation: Conversation) -> list[Askable]:
    """Return the tools that the person of a conversation may ask for, at most `MAX_ASKABLE`.

    They are off now, and either a call of them was refused in this conversation, or they are off with a reason that
    the person is told anyway: nobody learns here which tools others have.
    """
    refused = ToolCall.objects.filter(
        tenant_id=conversation.tenant_id, run__conversation=conversation, status=ToolCall.Status.REFUSED
    )
    names = set(refused.order_by("name").values_list("name", flat=True).distinct()[:MAX_ASKABLE])
    tools = effective_tools(
        tenant_id=conversation.tenant_id, user_id=conversation.user_id, assistant_id=conversation.assistant_id
    )
    off = [
        entry
        for entry in tools
        if entry.policy == "off" and (entry.switched_off is not None or entry.tool.name in names)
    ][:MAX_ASKABLE]
    return [
        Askable(
            entry.tool.name,
            entry.tool.title.strip() or entry.tool.name.replace("_", " "),
            "" if entry.switched_off is None else entry.switched_off.for_people,
        )
        for entry in off
    ]


def requests_in(conversation: Conversation) -> QuerySet[ToolRequest]:
    """Return what was asked for in a conversation, the newest first."""
    own = ToolRequest.objects.filter(
        tenant_id=conversation.tenant_id, user_id=conversation.user_id, conversation=conversation
    )
    return own.select_related("answered_by").order_by("-asked_at", "-pk")


def question_of(conversation: Conversation) -> str:
    """Return the beginning of the last question of a conversation, which goes along with a request; "" without one."""
    asked = Message.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, role=Message.Role.USER
    )
    return (asked.order_by("-position").values_list("content", flat=True).first() or "")[:MAX_QUESTION]


@transaction.atomic
def ask_for_tool(*, member: Member, conversation: Conversation, tool: str, wish: str) -> ToolRequest:
    """Store what a member asks for in a conversation of theirs, with the question that needed it.

    Args:
        tool: one of `askable_in`; "" for something that the member cannot name.
        wish: what it is for, in their words.

    Raises:
        AskingRefused: a visitor asks, or neither is said.
        AskingConflict: the tool cannot be asked for here now, was asked for already, or too many requests wait.
    """
    if member.is_end_user:
        raise AskingRefused(_("Visitors cannot ask for tools."))
    wish = " ".join(wish.split())
    if not tool and not wish:
        raise AskingRefused(_("Say which tool you need, or what for."))
    if tool and tool not in {entry.name for entry in askable_in(conversation)}:
        raise AskingConflict(_("This tool cannot be asked for here."))
    own = ToolRequest.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id)
    if own.filter(state=ToolRequest.State.OPEN).count() >= MAX_OPEN:
        raise AskingConflict(_("Too many of your requests wait for an answer."))
    row = ToolRequest(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        conversation=conversation,
        tool=tool,
        wish=wish,
        question=question_of(conversation),
    )
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as exc:
        raise AskingConflict(_("You have asked for this tool already.")) from exc
    _record(member, "toolrequest.add", row)
    notify(tenant_id=member.tenant_id, user_id=member.user_id, about=ABOUT)
    return row


@transaction.atomic
def withdraw(*, member: Member, conversation: Conversation, request_id: int) -> bool:
    """Delete a request of a member's own that waits; return whether there was one."""
    row = requests_in(conversation).filter(pk=request_id, user_id=member.user_id, state=ToolRequest.State.OPEN).first()
    if row is None:
        return False
    _record(member, "toolrequest.delete", row)
    row.delete()
    notify(tenant_id=member.tenant_id, user_id=member.user_id, about=ABOUT)
    return True


def told_to(member: Member) -> list[dict[str, Any]]:
    """Return what a member's open chats are told: requests that wait, and answers that they have not seen."""
    if member.is_end_user:
        return []
    own = ToolRequest.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id)
    if member.assistant_id is not None:
        own = own.filter(conversation__assistant_id=member.assistant_id)
    since = timezone.now() - TOLD_FOR
    told = own.filter(Q(state=ToolRequest.State.OPEN) | Q(is_seen=False, answered_at__gte=since))
    rows = list(told.select_related("answered_by", "conversation").order_by("-asked_at", "-pk")[:MAX_LISTED])
    titles = titles_of_requests(member.tenant_id, rows)
    return [{**as_mapping(row, titles), "threadId": str(row.conversation.client_id)} for row in rows]


def mark_seen(*, member: Member, request_id: int) -> None:
    """Record that a member has seen the answer to a request of theirs."""
    own = ToolRequest.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, pk=request_id)
    if own.exclude(state=ToolRequest.State.OPEN).update(is_seen=True):
        notify(tenant_id=member.tenant_id, user_id=member.user_id, about=ABOUT)


def titles_of_requests(tenant_id: int, rows: list[ToolRequest]) -> dict[str, str]:
    """Return the names for people of the tools of some requests of one tenant."""
    names = {row.tool for row in rows if row.tool}
    return titles_of(tenant_id=tenant_id, names=names) if names else {}


def as_mapping(row: ToolRequest, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return a request as its member reads it."""
    by = row.answered_by
    return {
        "id": row.pk,
        "tool": row.tool,
        "title": titles.get(row.tool) or row.tool.replace("_", " "),
        "wish": row.wish,
        "state": row.state,
        "answer": row.answer,
        "answeredBy": "" if by is None else person_name(by),
        "at": format_timestamp(row.answered_at or row.asked_at),
    }


def delete_of_leaving(*, actor: Actor, memberships: QuerySet[Membership]) -> None:
    """Delete what these members have asked for and got no answer to in the tenants that they leave."""
    for tenant_id, user_id in memberships.values_list("tenant_id", "user_id"):
        ToolRequest.objects.filter(tenant_id=tenant_id, user_id=user_id, state=ToolRequest.State.OPEN).delete()


def answered(*, actor: Actor, row: ToolRequest, state: str, answer: str) -> bool:
    """Store the answer to a request that waits, and tell the member's chats. Return False if it had one already."""
    waiting = ToolRequest.objects.filter(pk=row.pk, tenant_id=row.tenant_id, state=ToolRequest.State.OPEN)
    values = {"answer": answer, "answered_by_id": None if actor is None else actor.pk, "answered_at": DatabaseTime()}
    if not waiting.update(state=state, **values):
        return False
    notify(tenant_id=row.tenant_id, user_id=row.user_id, about=ABOUT)
    return True


def _record(member: Member, action: str, row: ToolRequest) -> None:
    audit_trail.record(
        actor=actor_of(member),
        action=action,
        target=row.tool or _("A tool without a name"),
        tenant=Tenant.objects.get(pk=member.tenant_id),
        details={"id": row.pk},
    )
