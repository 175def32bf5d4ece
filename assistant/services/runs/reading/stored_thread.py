"""Reads the stored part of a thread, as a member may see it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q, QuerySet

from assistant.core.conversation.paths import Path, Tree
from assistant.core.conversation.sub_agent_transcripts import SubAgentRun, from_stored
from assistant.core.values.messages import Message
from assistant.models import Conversation, Run, ToolCall
from assistant.models import Message as MessageRow
from assistant.models.runs import IS_ACTIVE
from assistant.services.conversations.added_details import added_details
from assistant.services.conversations.paths import NamedVersion, on_path, shown_tree, versions_of
from assistant.services.conversations.stored_messages import to_message
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.files import files_of_calls
from assistant.services.toolpolicy.titles import titles_of

# A snapshot has the newest messages, up to this many.
MAX_SNAPSHOT_MESSAGES = 1000
# Of these, the newest answers have what optional apps add to them: a snapshot is one frame.
MAX_ADDED = 50


@dataclass(frozen=True, slots=True)
class StoredThread:
    """The stored part of a thread.

    Attributes:
        messages: the newest messages, oldest first.
        calls: status, title, duration, display and media of their tool calls, and of the running answer's, by call id.
        sub_agents: the runs of assistants that these calls called, by call id.
        stopped: the ids of partial answers that were cut off because somebody stopped the run.
        versions: the messages that have several versions, by id.
        new_version: the same of the running answer, if it is one of several.
        last_run: the last run of the path that is shown, if the thread's last run is not on it.
        added: what optional apps add to answers, by the ids of their messages, if it was asked for.
    """

    messages: list[Message]
    calls: dict[str, dict[str, Any]]
    sub_agents: dict[str, list[SubAgentRun]]
    stopped: frozenset[str] = frozenset()
    versions: Mapping[str, NamedVersion] = field(default_factory=dict)
    new_version: NamedVersion | None = None
    last_run: Run | None = None
    added: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def readable_runs(member: Member) -> QuerySet[Run]:
    own = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id)
    return own.filter(api_key_id=member.key_id) if member.reads_only_own_runs else own


def own_thread(member: Member, thread_id: uuid.UUID) -> QuerySet[Conversation]:
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id).filter(pk=thread_id)
    return own if member.assistant_id is None else own.filter(assistant_id=member.assistant_id)


def stored_thread(
    *, member: Member, thread_id: uuid.UUID, until: int | None = None, with_added: bool = False
) -> StoredThread:
    """Return the stored part of a member's thread that they may read: the path that is shown.

    Args:
        until: the number of the run up to which it is wanted, on that run's own path; None for all.
        with_added: whether to read what optional apps add to the newest `MAX_ADDED` answers, for clients that are not
            sent `message.details`.
    """
    conversation = own_thread(member, thread_id).first()
    if conversation is None:
        return StoredThread([], {}, {})
    tree = shown_tree(conversation)
    path = _path_of(conversation, tree, until)
    rows = MessageRow.objects.filter(on_path(path), conversation__in=own_thread(member, thread_id))
    if member.reads_only_own_runs:
        rows = rows.filter(run__in=readable_runs(member))
    if until is not None:
        rows = rows.filter(Q(run=None) | Q(run__number__lte=until))
    rows = rows.annotate(run_status=F("run__status")).order_by("-position")[:MAX_SNAPSHOT_MESSAGES]
    stopped = frozenset(row.message_id for row in rows if row.is_partial and row.run_status == Run.Status.CANCELLED)
    versions = versions_of(conversation=conversation, tree=tree, path=path)
    ids = {row.position: row.message_id for row in rows} if versions else {}
    messages = [to_message(row) for row in reversed(rows)]
    while len(messages) == MAX_SNAPSHOT_MESSAGES and messages and messages[0].role != "user":
        messages.pop(0)
    audit = ToolCall.objects.filter(
        tenant_id=member.tenant_id, run__conversation_id=thread_id, run__user_id=member.user_id
    )
    own = audit.filter(call_id__in=_call_ids(messages))
    sub_agents = {
        call_id: from_stored(runs or ()) for call_id, runs in own.exclude(asked=None).values_list("call_id", "asked")
    }
    nested = _call_ids(message for runs in sub_agents.values() for run in runs for message in run.messages)
    wanted = Q(call_id__in=[*_call_ids(messages), *nested])
    if until is None:
        wanted |= Q(run__in=readable_runs(member).filter(IS_ACTIVE, conversation=thread_id))
    rows_of_calls = audit.filter(wanted).order_by("pk")  # an id that is used again is that of the latest call
    audited: list[tuple[int, str, str, str, int | None, Any]] = list(
        rows_of_calls.values_list("pk", "call_id", "name", "status", "duration_ms", "display")
    )
    files = files_of_calls(member=member, call_pks=[row[0] for row in audited])
    titles = titles_of(tenant_id=member.tenant_id, names={row[2] for row in audited})
    calls = {
        call_id: {
            "status": status,
            "title": titles.get(name),
            "durationMs": duration,
            "display": display,
            "media": files.get(pk),
        }
        for pk, call_id, name, status, duration, display in audited
    }
    return StoredThread(
        messages,
        calls,
        sub_agents,
        stopped,
        {ids[place]: one for place, one in versions.items() if place in ids},
        versions.get(conversation.message_count) if conversation.message_count not in ids else None,
        _last_run(member, conversation, rows[0]) if rows and conversation.branches and until is None else None,
        _added(member, rows) if with_added else {},
    )


def _added(member: Member, newest: Iterable[MessageRow]) -> dict[str, dict[str, Any]]:
    """Return what optional apps add to the newest answers of some messages, as far as the member may see it now."""
    answers = [row for row in newest if row.role == MessageRow.Role.ASSISTANT and row.content and not row.is_superseded]
    answers = answers[:MAX_ADDED]
    runs = readable_runs(member).filter(pk__in={row.run_id for row in answers if row.run_id})
    found = added_details(member=member, runs=runs)
    return {row.message_id: found[row.run_id] for row in answers if row.run_id in found}


def _path_of(conversation: Conversation, tree: Tree, until: int | None) -> Path:
    """Return the path that is shown, or that of run number `until` if it has messages elsewhere."""
    shown = tree.path()
    if until is None or shown.is_whole:
        return shown
    of_run = MessageRow.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, run__number=until
    )
    last = of_run.order_by("-position").values_list("position", flat=True).first()
    return shown if last is None or shown.has(last) else tree.until(last + 1)


def _last_run(member: Member, conversation: Conversation, last: MessageRow) -> Run | None:
    """Return the run of the last message that is shown, unless that is the last message of the conversation."""
    if last.run_id is None or last.position >= conversation.message_count - 1:
        return None
    return readable_runs(member).filter(conversation=conversation, pk=last.run_id).first()


def _call_ids(messages: Iterable[Message]) -> list[str]:
    return [call.id for message in messages for call in message.tool_calls]
