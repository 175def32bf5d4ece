"""Cursor pagination of conversations and messages, stable while entries are added."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Q, QuerySet

from assistant.models import Conversation, Feedback
from assistant.models import Message as MessageRow
from assistant.services.conversations.added_details import added_details
from assistant.services.conversations.conversations import conversations_of
from assistant.services.conversations.paths import NamedVersion, on_path, shown_tree, versions_of
from assistant.services.tenancy.members import Member

T = TypeVar("T")
MAX_PAGE = 100
# The column of positions has 32 bits.
MAX_POSITION = 2**31


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Entries, and the cursor of the next page or None."""

    entries: Sequence[T]
    next_cursor: str | None


class InvalidCursor(ValueError):
    """The cursor was not returned by an earlier page."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message as clients see it, with the member's own feedback, and what optional apps add to an answer."""

    id: str
    position: int
    run_id: str
    role: str
    content: str
    reasoning: str
    tool_calls: Sequence[dict[str, Any]]
    tool_call_id: str
    is_partial: bool
    is_superseded: bool
    cut_reason: str
    attachments: Sequence[dict[str, Any]]
    versions: NamedVersion | None
    created_at: datetime
    feedback: Feedback | None
    added: Mapping[str, Any] = field(default_factory=dict)


def conversation_page(
    *,
    member: Member,
    search: str = "",
    assistant: str = "",
    is_archived: bool = False,
    is_pinned: bool | None = None,
    cursor: str = "",
    limit: int,
) -> Page[Conversation]:
    """Return a page of a member's conversations, the latest first.

    Args:
        is_pinned: True for those that are pinned alone, False for those that are not; None for all.

    Raises:
        InvalidCursor: `cursor` was not returned by an earlier page.
    """
    found = conversations_of(member=member, search=search).filter(archived_at__isnull=not is_archived)
    if is_pinned is not None:
        found = found.filter(pinned_at__isnull=not is_pinned)
    if assistant:
        found = found.filter(assistant__slug=assistant)
    if cursor:
        at, pk = _decode(cursor, _parse_conversation_position)
        found = found.filter(Q(updated_at__lt=at) | Q(updated_at=at, pk__lt=pk))
    rows = list(found.order_by("-updated_at", "-pk")[: limit + 1])
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(rows[:limit], _encode(f"{last.updated_at.isoformat()}|{last.pk}") if last else None)


def message_page(*, member: Member, conversation: Conversation, cursor: str = "", limit: int) -> Page[ClientMessage]:
    """Return a page of the messages of a conversation that are shown, oldest first.

    Raises:
        InvalidCursor: `cursor` was not returned by an earlier page.
    """
    tree = shown_tree(conversation)
    path = tree.path()
    rows = MessageRow.objects.filter(on_path(path), conversation=conversation, conversation__tenant_id=member.tenant_id)
    if cursor:
        rows = rows.filter(position__gt=_decode(cursor, _parse_position))
    found = list(rows.order_by("position").values_list("position", flat=True)[: limit + 1])
    shown = found[:limit]
    next_cursor = _encode(str(shown[-1])) if len(found) > limit else None
    versions = versions_of(conversation=conversation, tree=tree, path=path)
    return Page(client_messages(member=member, rows=rows.filter(position__in=shown), versions=versions), next_cursor)


def client_messages(
    *, member: Member, rows: QuerySet[MessageRow], versions: Mapping[int, NamedVersion] | None = None
) -> list[ClientMessage]:
    """Return messages in their order, as clients see them.

    Args:
        versions: of the messages that have several, by position.
    """
    messages = list(rows.select_related("run").order_by("position"))
    given = Feedback.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, message__in=messages)
    feedback = {row.message_id: row for row in given}
    answers = {row.run.pk: row.run for row in messages if row.run and _is_answer(row)}
    added = added_details(member=member, runs=answers.values())
    return [
        ClientMessage(
            id=row.message_id,
            position=row.position,
            run_id=row.run.run_id if row.run else "",
            role=row.role,
            content=row.content,
            reasoning=row.reasoning,
            tool_calls=row.tool_calls,
            tool_call_id=row.tool_call_id,
            is_partial=row.is_partial,
            is_superseded=row.is_superseded,
            cut_reason=row.cut_reason,
            attachments=row.attachments,
            versions=(versions or {}).get(row.position),
            created_at=row.created_at,
            feedback=feedback.get(row.pk),
            added=added.get(row.run_id or 0, {}) if _is_answer(row) else {},
        )
        for row in messages
    ]


def _is_answer(row: MessageRow) -> bool:
    return row.role == MessageRow.Role.ASSISTANT and bool(row.content) and not row.is_superseded


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode())
    except ValueError as exc:
        raise InvalidCursor("This cursor is not valid.") from exc


def _parse_conversation_position(text: str) -> tuple[datetime, uuid.UUID]:
    moment, _, pk = text.partition("|")
    at = datetime.fromisoformat(moment)
    if at.tzinfo is None:
        raise ValueError("the time has no time zone")
    return at, uuid.UUID(pk)


def _parse_position(text: str) -> int:
    number = int(text)
    if not 0 <= number < MAX_POSITION:
        raise ValueError("the position is out of range")
    return number
