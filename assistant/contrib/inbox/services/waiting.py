"""What waits for a member over all their conversations: what runs, what needs them, and answers they have not seen."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone

from assistant.contrib.inbox.models import ConversationSeen, MemberInbox
from assistant.contrib.inbox.services.notices import INBOX
from assistant.models import Approval, Conversation, Run
from assistant.models.runs import IS_ACTIVE
from assistant.services.conversations.conversations import conversations_of
from assistant.services.eventlog.member_notices import notify
from assistant.services.runs.approval_expiry import oldest_answerable
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp
from assistant.services.toolpolicy.titles import titles_of

# How many entries a client gets of each state, and how many runs are looked at for answers that are new.
MAX_ENTRIES = 50
MAX_LOOKED_AT = 200
MAX_ABOUT = 200
State = Literal["running", "needs", "new"]
_ENDED = (Run.Status.FINISHED, Run.Status.FAILED, Run.Status.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Entry:
    """A conversation that waits for its member.

    Attributes:
        state: an answer is being written, something needs the member, or an ended answer was not seen.
        about: the titles of the tools that wait; "" for other states.
        at: when it began to wait.
    """

    thread: uuid.UUID
    title: str
    assistant: str
    state: State
    about: str
    at: datetime

    def as_mapping(self) -> dict[str, Any]:
        """Return it with the names of the websocket API."""
        return {
            "threadId": str(self.thread),
            "title": self.title,
            "assistant": self.assistant,
            "state": self.state,
            "about": self.about,
            "at": format_timestamp(self.at),
        }


def entries_of(member: Member) -> list[Entry]:
    """Return what waits for a member: first what needs them, then what is new, then what runs; the newest first.

    With an end user's token, only of its assistant. A conversation is in the list once.
    """
    own = _own(member)
    waiting = list(_needing(member, own))
    running = list(_running(member, own))
    busy = {entry.thread for entry in (*waiting, *running)}
    return [*waiting, *(entry for entry in _new(member, own) if entry.thread not in busy), *running]


def _own(member: Member) -> Any:
    own = conversations_of(member=member)
    return own if member.assistant_id is None else own.filter(assistant_id=member.assistant_id)


def _needing(member: Member, own: Any) -> Iterator[Entry]:
    asked = Approval.objects.filter(
        tenant_id=member.tenant_id,
        run__user_id=member.user_id,
        run__conversation__in=own.values("pk"),
        started_at__gte=oldest_answerable(),
    ).select_related("run__conversation__assistant")
    calls: dict[uuid.UUID, list[Approval]] = {}
    for call in asked.order_by("-started_at", "-pk")[:MAX_LOOKED_AT]:
        calls.setdefault(call.waiting_run.conversation_id, []).append(call)
    names = {call.name for group in calls.values() for call in group}
    titles = titles_of(tenant_id=member.tenant_id, names=names) if names else {}
    for group in list(calls.values())[:MAX_ENTRIES]:
        about = _joined(titles.get(call.name, call.name) for call in reversed(group))
        yield _entry(group[0].waiting_run.conversation, "needs", group[0].started_at, about)


def _running(member: Member, own: Any) -> Iterator[Entry]:
    runs = _runs(member, own).filter(IS_ACTIVE)
    for run in _once(runs.order_by("-started_at", "-pk")[:MAX_ENTRIES]):
        yield _entry(run.conversation, "running", run.started_at)


def _new(member: Member, own: Any) -> Iterator[Entry]:
    since = inbox_of(tenant_id=member.tenant_id, user_id=member.user_id).since
    seen = ConversationSeen.objects.filter(tenant_id=member.tenant_id, conversation=OuterRef("conversation"))
    ended = (
        _runs(member, own)
        .filter(status__in=_ENDED, ended_at__gt=since)
        .annotate(seen=Subquery(seen.values("seen_at")[:1]))
    )
    unseen = ended.filter(Q(seen=None) | Q(ended_at__gt=F("seen")))
    for run in list(_once(unseen.order_by("-ended_at", "-pk")[:MAX_LOOKED_AT]))[:MAX_ENTRIES]:
        yield _entry(run.conversation, "new", run.ended_at or since)


def _runs(member: Member, own: Any) -> Any:
    runs = Run.objects.filter(tenant_id=member.tenant_id, conversation__in=own.values("pk"))
    return runs.select_related("conversation__assistant")


def _once(runs: Iterable[Run]) -> Iterator[Run]:
    known: set[uuid.UUID] = set()
    for run in runs:
        if run.conversation_id not in known:
            known.add(run.conversation_id)
            yield run


def _entry(row: Conversation, state: State, at: datetime, about: str = "") -> Entry:
    return Entry(row.client_id, row.title, row.assistant.name, state, about, at)


def _joined(titles: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(titles))[:MAX_ABOUT]


def inbox_of(*, tenant_id: int, user_id: Any) -> MemberInbox:
    """Return the inbox of a member, which counts answers as new from its first use on."""
    found, _ = MemberInbox.objects.get_or_create(
        tenant_id=tenant_id, user_id=user_id, defaults={"since": timezone.now()}
    )
    return found


def mark_seen(*, member: Member, conversation_id: uuid.UUID) -> bool:
    """Record that a member has seen a conversation to its end. Return whether they have such a conversation."""
    row = _own(member).filter(pk=conversation_id).values_list("pk", flat=True).first()
    if row is None:
        return False
    seen: Mapping[str, Any] = {"tenant_id": member.tenant_id, "seen_at": timezone.now()}
    ConversationSeen.objects.update_or_create(conversation_id=row, tenant_id=member.tenant_id, defaults=seen)
    notify(tenant_id=member.tenant_id, user_id=member.user_id, about=INBOX)
    return True
