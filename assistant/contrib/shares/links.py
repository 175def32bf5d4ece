"""Links under which a tenant's members read a conversation of another member, as it was shown when each was made."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from assistant.contrib.shares.models import ConversationShare
from assistant.contrib.shares.switches import may_share
from assistant.core.conversation.paths import Path
from assistant.models import Conversation, Membership, Run, Tenant, ToolCall
from assistant.models import Message as MessageRow
from assistant.services.conversations.added_details import shared_details
from assistant.services.conversations.paths import on_path, shown_path
from assistant.services.knowledge.sources import document_of, visible_sources
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.titles import state_of_call, titles_of

# Links of one conversation; and what a link shows at most: the newest messages, and characters of them.
MAX_SHARES, MAX_MESSAGES, MAX_CHARACTERS = 10, 500, 200_000


class SharingRefused(Exception):
    """No link can be made. People read the message."""


@dataclass(frozen=True, slots=True)
class SharedCall:
    """A tool call as a link shows it: the tool's name for people, and what became of it. Never arguments or results."""

    title: str
    status: str
    is_ok: bool


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """A message of the user (without calls) or of the assistant, as Markdown.

    `is_partial`: it was cut off; `is_stopped`: because somebody stopped it; `cut_reason`: as in `Message`; `id`: as
    clients know it; `added`: what optional apps add to an answer, and `passages`: those that it names, as far as the
    reader may see them.
    """

    is_user: bool
    text: str
    calls: Sequence[SharedCall]
    is_partial: bool
    is_stopped: bool
    cut_reason: str
    id: str
    added: Mapping[str, Any]
    passages: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """What a link shows. `is_cut`: older messages were left out."""

    title: str
    assistant: str
    owner: str
    shared_at: datetime
    messages: Sequence[SharedMessage]
    is_cut: bool


@transaction.atomic
def share_conversation(*, member: Member, conversation_id: uuid.UUID) -> ConversationShare | None:
    """Make a link to a member's own conversation; return None if there is no such conversation.

    It shows the path that is shown now, up to its last complete run, and nothing that comes later.

    Raises:
        SharingRefused: the tenant does not allow links, nothing was said yet, or there are too many links.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    conversation = own.select_for_update().filter(pk=conversation_id).first()
    if conversation is None:
        return None
    if not may_share(member=member):
        raise SharingRefused(_("Conversations cannot be shared here. An administrator can allow it."))
    path = shown_path(conversation).until(conversation.message_count)
    if not conversation.message_count or not path.ranges:
        raise SharingRefused(_("There is nothing to share yet."))
    if shares_of(member=member, conversation_id=conversation_id).count() >= MAX_SHARES:
        sentence = _("A conversation has at most %(count)d links. Revoke one first.")
        raise SharingRefused(sentence % {"count": MAX_SHARES})
    share = ConversationShare.objects.create(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        conversation=conversation,
        title=conversation.title,
        path=list(path.ranges),
    )
    _record(member, "conversation.share", share)
    return share


def shares_of(*, member: Member, conversation_id: uuid.UUID) -> QuerySet[ConversationShare]:
    """Return the links to a member's own conversation, the newest first."""
    return ConversationShare.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, conversation_id=conversation_id
    )


@transaction.atomic
def revoke_share(*, member: Member, conversation_id: uuid.UUID, share_id: uuid.UUID) -> bool:
    """Delete a link of a member's own conversation, so that it leads nowhere; return False if there is none."""
    share = shares_of(member=member, conversation_id=conversation_id).filter(pk=share_id).first()
    if share is None:
        return False
    _record(member, "conversation.unshare", share)
    share.delete()
    return True


def revoke_shares_of(*, actor: audit_trail.Actor, memberships: QuerySet[Membership]) -> None:
    """Delete all links that members have made in the tenants of these memberships, because they leave."""
    for tenant_id, user_id in memberships.values_list("tenant_id", "user_id"):
        ConversationShare.objects.filter(tenant_id=tenant_id, user_id=user_id).delete()


def shared_conversation(*, member: Member, share_id: uuid.UUID) -> SharedConversation | None:
    """Return what a link shows to a member of its tenant.

    None for everybody else, as for a link that never was; also if the tenant allows no links any more, or the owner
    is no active member.
    """
    if member.is_end_user:
        return None
    owners = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"), user__is_active=True)
    found = ConversationShare.objects.filter(
        Exists(owners), pk=share_id, tenant_id=member.tenant_id, tenant__sharing__is_allowed=True
    )
    share = found.select_related("conversation__assistant", "user").first()
    if share is None:
        return None
    messages, is_cut = _messages(share, member)
    return SharedConversation(
        title=share.title,
        assistant=share.conversation.assistant.name,
        owner=share.user.get_username(),
        shared_at=share.created_at,
        messages=messages,
        is_cut=is_cut,
    )


def _messages(share: ConversationShare, reader: Member) -> tuple[list[SharedMessage], bool]:
    """Return the newest messages that a link shows, oldest first, and whether older ones are left out."""
    path = Path(tuple((start, stop) for start, stop in share.path))
    rows = (
        MessageRow.objects.filter(
            on_path(path),
            conversation_id=share.conversation_id,
            conversation__tenant_id=share.tenant_id,
            role__in=[MessageRow.Role.USER, MessageRow.Role.ASSISTANT],
            is_superseded=False,
        )
        .select_related("run")
        .order_by("-position")
    )
    kept: list[MessageRow] = []
    characters = 0
    for row in rows[: MAX_MESSAGES + 1]:
        characters += len(row.content)
        if kept and (len(kept) == MAX_MESSAGES or characters > MAX_CHARACTERS):
            break
        kept.append(row)
    kept.reverse()
    answers = {row.run_id: row.run for row in kept if row.run and row.role == MessageRow.Role.ASSISTANT and row.content}
    added = shared_details(member=reader, runs=answers.values())
    passages = _passages(share, reader, answers.values())
    last = {row.run_id: row.pk for row in kept if row.run_id in passages and row.content}
    calls = _calls(share, [call["id"] for row in kept for call in row.tool_calls])
    found = [
        SharedMessage(
            is_user=row.role == MessageRow.Role.USER,
            text=row.content[:MAX_CHARACTERS],
            calls=[calls[call["id"]] for call in row.tool_calls if call["id"] in calls],
            is_partial=row.is_partial,
            is_stopped=row.is_partial and row.run is not None and row.run.status == Run.Status.CANCELLED,
            cut_reason=row.cut_reason,
            id=row.message_id,
            added=added.get(row.run_id or 0, {}) if row.role == MessageRow.Role.ASSISTANT and row.content else {},
            passages=passages.get(row.run_id or 0, ()) if last.get(row.run_id or 0) == row.pk else (),
        )
        for row in kept
    ]
    return found, bool(kept) and len(kept) < rows.count()


def _passages(share: ConversationShare, reader: Member, runs: Iterable[Run]) -> dict[int, list[Mapping[str, Any]]]:
    """Return the passages that answers name; of files and documents that the reader may not read, the numbers alone."""
    named = {run.pk: run.passages for run in runs if run.passages}
    of_documents = {
        key: [one for one in some if document_of(str(one.get("source_id"))) is not None] for key, some in named.items()
    }
    read = visible_sources(member=reader, assistant=share.conversation.assistant.slug, passages=of_documents)
    hidden = _("This source is not part of what was shared.")
    return {
        key: [one if one in read[key] else {"number": one["number"], "source": hidden, "text": ""} for one in some]
        for key, some in named.items()
    }


def _calls(share: ConversationShare, ids: Sequence[str]) -> dict[str, SharedCall]:
    rows = ToolCall.objects.filter(
        tenant_id=share.tenant_id, run__conversation_id=share.conversation_id, call_id__in=ids
    )
    known = list(rows.values_list("call_id", "name", "status"))
    titles = titles_of(tenant_id=share.tenant_id, names={name for _, name, _ in known})
    return {
        call_id: SharedCall(
            titles.get(name, name.replace("_", " ")), state_of_call(status), is_ok=status == ToolCall.Status.OK
        )
        for call_id, name, status in known
    }


def _record(member: Member, action: str, share: ConversationShare) -> None:
    # Never the whole id: who reads the audit could open the link with it.
    audit_trail.record(
        actor=get_user_model()._base_manager.get(pk=member.user_id),
        action=action,
        target=f"conversation {share.conversation_id}",
        tenant=Tenant.objects.get(pk=member.tenant_id),
        details={"share": str(share.pk)[:8]},
    )
