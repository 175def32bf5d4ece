"""Converts between stored messages and the core's `Message`.

What providers send with messages for themselves is encrypted, if ASSISTANT_ENCRYPT_PROVIDER_STATE is set.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import ExpressionWrapper, F, Q, QuerySet, TextField
from django.db.models.functions import Cast

from assistant.core.conversation.paths import WHOLE, Path
from assistant.core.values.messages import AttachedFile, Message, ToolCall, messages_of
from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.models.fields import decrypted, encrypted
from assistant.services.conversations.paths import on_path, shown_path, summarised_to
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery

logger = logging.getLogger(__name__)

# A state begins with this if it is not encrypted: it is a JSON object.
_PLAIN = "{"


def sealed(state: str) -> str:
    """Return a state as it is stored."""
    return encrypted(state) if settings.ASSISTANT_ENCRYPT_PROVIDER_STATE and state.startswith(_PLAIN) else state


def unsealed(stored: str) -> str:
    """Return a stored state as the adapter wrote it; "" if no key decrypts it, which a provider can do without."""
    if not stored or stored.startswith(_PLAIN):
        return stored
    try:
        return decrypted(stored, "a provider's state")
    except ImproperlyConfigured as exc:
        logger.warning("A provider does not get back what it gave with a message: %s", exc)
        return ""


def with_unsealed_states(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored checkpoint with the states of its messages as the adapter wrote them."""
    messages = [{**one, "provider_state": unsealed(one.get("provider_state", ""))} for one in checkpoint["messages"]]
    return {**checkpoint, "messages": messages}


def with_sealed_states(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Return a checkpoint, as `Transcript.to_state` made it, with the states of its messages as they are stored."""
    if settings.ASSISTANT_ENCRYPT_PROVIDER_STATE:
        for message in checkpoint["messages"]:
            message["provider_state"] = sealed(message["provider_state"])
    return checkpoint


# Bounds the query for long threads. More than a model is ever sent, because the assistant's token limit is lower.
MAX_RECENT_MESSAGES = 400

_Row = tuple[str, str, str, str, str, int, str, int, str, str]
_EMPTY = "[]"
EVERYWHERE = Q()
_read_names = msgspec.json.Decoder(tuple[str, ...]).decode
_read_files = msgspec.json.Decoder(list[dict[str, Any]]).decode
_read_calls = msgspec.json.Decoder(tuple[ToolCall, ...]).decode


def to_message(row: MessageRow) -> Message:
    """Return a stored message as a `Message`."""
    return Message(
        role=row.role,  # type: ignore[arg-type]  # the column's choices are the core's roles
        content=row.content,
        id=row.message_id,
        tool_calls=tuple(ToolCall(**call) for call in row.tool_calls),
        tool_call_id=row.tool_call_id,
        reasoning=row.reasoning,
        is_partial=row.is_partial,
        sources=tuple(row.sources),
        from_caller=row.from_caller,
        provider_state=unsealed(row.provider_state) if row.provider_state else "",
        attachments=tuple(map(AttachedFile.from_state, row.attachments)),
        is_superseded=row.is_superseded,
        cut_reason=row.cut_reason,
    )


def text_of(message: Message) -> str:
    """Return a message with its tool calls as text for operators."""
    lines = [f"[{file.name}]" for file in message.attachments]
    lines += [message.content] if message.content else []
    lines += [f"→ {call.name}({call.arguments})" for call in message.tool_calls]
    return "\n".join(lines) + (" […]" if message.is_partial else "")


def recent_messages(*, conversation: Conversation, path: Path | None = None) -> list[Message]:
    """Return the newest messages of a conversation for a model, oldest first: no reasoning, no superseded ones.

    Args:
        path: the path to read; None for the one that is shown.
    """
    path = shown_path(conversation) if path is None else path
    end = conversation.message_count
    newest = end - MAX_RECENT_MESSAGES if path is WHOLE else path.newest(MAX_RECENT_MESSAGES, end)
    parameters = {
        "tenant_id": conversation.tenant_id,
        "conversation_id": conversation.pk,
        # In addition to the LIMIT, for which PostgreSQL without statistics would read and sort the whole thread.
        "position": max(conversation.summarised_to if path is WHOLE else summarised_to(conversation, path), newest),
    }
    # The statement for a part of the conversation differs for each path, and so is not prepared.
    rows = _RECENT_QUERY.rows(**parameters) if path is WHOLE else list(_newest(on_path(path), **parameters))
    return _messages(reversed(rows))


def unsummarised_messages(*, conversation: Conversation, path: Path | None = None) -> list[Message]:
    """Return a path's messages for a model, by default of the shown path, after the summary, oldest first."""
    path = shown_path(conversation) if path is None else path
    rows = _unsummarised(
        tenant_id=conversation.tenant_id,
        conversation_id=conversation.pk,
        position=summarised_to(conversation, path),
    )
    return _messages(rows.filter(on_path(path)).order_by("position"))


def _unsummarised(*, tenant_id: int, conversation_id: uuid.UUID, position: int) -> QuerySet[MessageRow, _Row]:
    # Not whole rows, which would take four times as long for every run.
    return MessageRow.objects.filter(
        conversation=conversation_id, conversation__tenant_id=tenant_id, position__gte=position, is_superseded=False
    ).values_list(
        "role",
        "content",
        "message_id",
        Cast("tool_calls", TextField()),
        "tool_call_id",
        # A raw value (0 or 1 in SQLite): Django would convert a boolean row by row.
        ExpressionWrapper(F("is_partial"), TextField()),
        Cast("sources", TextField()),
        ExpressionWrapper(F("from_caller"), TextField()),
        "provider_state",
        Cast("attachments", TextField()),
    )


def _newest(condition: Q = EVERYWHERE, **parameters: Any) -> QuerySet[MessageRow, _Row]:
    return _unsummarised(**parameters).filter(condition).order_by("-position")[:MAX_RECENT_MESSAGES]


_RECENT_QUERY = PreparedQuery(_newest, tenant_id=int, conversation_id=uuid.UUID, position=int)


def _messages(rows: Iterable[_Row]) -> list[Message]:
    return messages_of(
        (
            role,
            content,
            message_id,
            () if calls == _EMPTY else _read_calls(calls),
            call_id,
            "",
            bool(is_partial),
            (),
            () if sources == _EMPTY else _read_names(sources),
            bool(from_caller),
            unsealed(state) if state else "",
            () if files == _EMPTY else tuple(map(AttachedFile.from_state, _read_files(files))),
        )
        for role, content, message_id, calls, call_id, is_partial, sources, from_caller, state, files in rows
    )


def store_messages(
    *,
    tenant_id: int,
    conversation_id: uuid.UUID,
    run_id: int,
    messages: Sequence[Message],
    first_position: int,
    digests: Mapping[str, str | None] | None = None,
) -> None:
    """Append messages to a conversation, from `first_position` on.

    Args:
        digests: of the marked ones by message id, from `returned_marks.digests_of`.
    """
    MessageRow.objects.bulk_create(
        [
            MessageRow(
                conversation_id=conversation_id,
                run_id=run_id,
                position=first_position + offset,
                message_id=message.id,
                role=message.role,
                content=message.content,
                reasoning=message.reasoning,
                tool_calls=[
                    {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
                ],
                tool_call_id=message.tool_call_id,
                is_partial=message.is_partial,
                cut_reason=message.cut_reason,
                sources=list(message.sources),
                from_caller=message.from_caller,
                provider_state=sealed(message.provider_state) if message.provider_state else "",
                attachments=[file.to_state() for file in message.attachments],
                mark_digest=digests.get(message.id) if digests else None,
            )
            for offset, message in enumerate(messages)
        ]
    )
    superseded = []
    for message in messages:
        if message.is_superseded:
            superseded.append(message.id)  # noqa: PERF401 - a comprehension is a call more in every run
    if superseded:
        own = MessageRow.objects.filter(conversation=conversation_id, conversation__tenant_id=tenant_id, run_id=run_id)
        own.filter(message_id__in=superseded).update(is_superseded=True)


def open_calls(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """Return the calls of the last assistant message that have no result yet, by id."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "assistant":
            calls = {call.id: call for call in message.tool_calls}
        elif message.role == "tool":
            calls.pop(message.tool_call_id, None)
        else:
            calls = {}
    return calls
