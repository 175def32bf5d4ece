"""What a client that attaches to a thread is told first: what it missed, or a fresh picture of everything."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from assistant.core.conversation.agui_messages import sub_agents_to_agui, to_agui
from assistant.core.conversation.sub_agent_transcripts import SubAgentRun, from_stored
from assistant.core.conversation.transcript import Transcript
from assistant.core.values.events import PROTOCOL_VERSION, Event, MessagesSnapshot, RunStarted, TextMessageStart
from assistant.core.values.messages import Message
from assistant.models import Conversation, Run, ToolCall
from assistant.models import Message as MessageRow
from assistant.services.conversations.stored_messages import to_message
from assistant.services.eventlog.frames import FrameEncoder, decode_event, stored_event
from assistant.services.eventlog.log import Position, ThreadLog
from assistant.services.run_key import RunKey, key_of
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.files import files_of_calls

# A picture holds at most this many messages, the newest.
MAX_SNAPSHOT_MESSAGES = 1000
# Redis can lose events that were told after the last checkpoint: the next one has them, and is looked for this often.
SNAPSHOT_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread as the database has it: its last run, and where `after` stands in it."""

    run: Run
    after: Position | None

    @property
    def is_running(self) -> bool:
        return self.run.status == Run.Status.RUNNING

    @property
    def is_at_end(self) -> bool:
        """Whether `after` is the end of the last run: there is nothing to catch up with."""
        return not self.is_running and self.after == Position(self.run.number, self.run.checkpoint_seq)


def thread_state(
    *, member: Member, thread_id: uuid.UUID, after_run: str | None = None, after_seq: int = 0
) -> ThreadState | None:
    """The state of a member's own thread; None if it is somebody else's, or nobody's."""
    runs = Run.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, conversation__in=_own_thread(member, thread_id)
    )
    last = runs.order_by("-number").first()
    if last is None:
        return None
    if after_run is None:
        return ThreadState(last, None)
    number = (
        last.number
        if after_run == last.run_id
        else runs.filter(run_id=after_run).values_list("number", flat=True).first()
    )
    return ThreadState(last, None if number is None else Position(number, after_seq))


def _own_thread(member: Member, thread_id: uuid.UUID) -> QuerySet[Conversation]:
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id).filter(pk=thread_id)
    return own if member.assistant_id is None else own.filter(assistant_id=member.assistant_id)


def thread_summary(*, member: Member, thread_id: uuid.UUID, number: int) -> tuple[str, str] | None:
    """The id of the run `number` of a member's own thread, and the thread's summary; None without a summary."""
    runs = Run.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, conversation__in=_own_thread(member, thread_id)
    )
    return runs.filter(number=number).exclude(conversation__summary="").values_list(
        "run_id", "conversation__summary"
    ).first()  # fmt: skip


def find_run(*, member: Member, run_id: str) -> RunKey | None:
    """A member's own run by its id, the newest if several threads have one of that id."""
    run = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, run_id=run_id).order_by("-pk").first()
    return key_of(run, "") if run else None


def run_ending(*, key: RunKey) -> tuple[int, str] | None:
    """The number and frame of a run's last event; None while it is running."""
    run = Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).only("ending", "checkpoint_seq").first()
    if run is None or run.ending is None:
        return None
    frame = FrameEncoder(run_id=key.run_id, thread=key.thread).frame(stored_event(run.ending), run.checkpoint_seq)
    return run.checkpoint_seq, frame


def run_before(*, key: RunKey) -> RunKey | None:
    """The run before this one in its thread; None if that is deleted."""
    runs = Run.objects.filter(tenant_id=key.tenant_id, conversation_id=key.thread, number=key.number - 1)
    run = runs.first()
    return key_of(run, "") if run else None


def can_catch_up(state: ThreadState, log: ThreadLog) -> bool:
    """Whether every event after the client's position can be sent."""
    if state.is_at_end:
        return True
    after, last = state.after, log.last
    return after is not None and last is not None and after <= last and log.holds(after)


@dataclass(frozen=True, slots=True)
class StoredThread:
    """What the database has of a thread: its newest messages, oldest first.

    `calls` is what is known of their tool calls, and `asked` what was said by the assistants that those asked, both by
    call id.
    """

    messages: list[Message]
    calls: dict[str, dict[str, Any]]
    asked: dict[str, list[SubAgentRun]]


def run_state(*, key: RunKey) -> ThreadState:
    """The state of a thread as of one of its runs. Raises `Run.DoesNotExist` if that is deleted."""
    return ThreadState(Run.objects.get(pk=key.pk, tenant_id=key.tenant_id), None)


def stored_thread(*, member: Member, thread_id: uuid.UUID, until: int | None = None) -> StoredThread:
    """What is stored of a member's thread; `until` is the number of the last run that is looked at, default all."""
    rows = MessageRow.objects.filter(conversation__in=_own_thread(member, thread_id))
    if until is not None:
        rows = rows.filter(Q(run=None) | Q(run__number__lte=until))
    rows = rows.order_by("-position")[:MAX_SNAPSHOT_MESSAGES]
    messages = [to_message(row) for row in reversed(rows)]
    while len(messages) == MAX_SNAPSHOT_MESSAGES and messages and messages[0].role != "user":
        messages.pop(0)
    audit = ToolCall.objects.filter(
        tenant_id=member.tenant_id, run__conversation_id=thread_id, run__user_id=member.user_id
    )
    told = audit.filter(call_id__in=_call_ids(messages))
    asked = {
        call_id: from_stored(kept or ()) for call_id, kept in told.exclude(asked=None).values_list("call_id", "asked")
    }
    deeper = _call_ids(message for said in asked.values() for one in said for message in one.messages)
    known: list[tuple[int, str, str, int | None, Any]] = list(
        (told | audit.filter(call_id__in=deeper) if deeper else told).values_list(
            "pk", "call_id", "status", "duration_ms", "display"
        )
    )
    files = files_of_calls(member=member, call_pks=[row[0] for row in known])
    calls = {
        call_id: {"status": status, "durationMs": duration, "display": display, "media": files.get(pk)}
        for pk, call_id, status, duration, display in known
    }
    return StoredThread(messages, calls, asked)


def _call_ids(messages: Iterable[Message]) -> list[str]:
    return [call.id for message in messages for call in message.tool_calls]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fresh picture: its frames, of which the first `head` come before the run's end, and where the log goes on.

    `texts` are the assistant's messages (id and Markdown) in it, `open_texts` the ids of those that go on.
    """

    frames: list[str]
    head: int
    numbering: FrameEncoder
    position: Position
    texts: list[tuple[str, str]]
    open_texts: frozenset[str]
    is_end: bool


def build_snapshot(*, state: ThreadState, log: ThreadLog, stored: StoredThread) -> Snapshot:
    """A fresh picture of a thread: a running answer is rebuilt from its checkpoint and the log."""
    run = state.run
    thread = str(run.conversation_id)
    transcript, seq = _running(state, log) if state.is_running else (Transcript(), run.checkpoint_seq)
    known = {message.id for message in stored.messages}
    everything = [*stored.messages, *(message for message in transcript.messages if message.id not in known)]
    asked = {
        call_id: sub_agents_to_agui(said)
        for call_id, said in {**transcript.sub_agents.by_call(), **stored.asked}.items()
    }
    told = _described(_with_asked(to_agui(everything), asked), stored.calls)
    events: list[Event] = [
        RunStarted(thread, run.run_id, protocol_version=PROTOCOL_VERSION),
        MessagesSnapshot(told),
        *transcript.open_events(),
    ]
    numbering = FrameEncoder(run_id=run.run_id, thread=thread)
    frames = [numbering.frame(event, seq) for event in events]
    head = len(frames)
    if not state.is_running and run.ending is not None:
        frames.append(numbering.frame(stored_event(run.ending), seq))
    return Snapshot(
        frames=frames,
        head=head,
        numbering=numbering,
        position=Position(run.number, seq),
        texts=[(message["id"], message.get("content", "")) for message in told if message["role"] == "assistant"],
        is_end=not state.is_running,
        open_texts=frozenset(
            event.message_id for event in transcript.open_events() if isinstance(event, TextMessageStart)
        ),
    )


def _running(state: ThreadState, log: ThreadLog) -> tuple[Transcript, int]:
    run = state.run
    seq = 0
    transcript = Transcript()
    if not log.holds(Position(run.number, 0)) and run.partial is not None:
        transcript, seq = Transcript.from_state(run.partial), run.checkpoint_seq
    for entry in log.read(Position(run.number, seq)):
        # The run may have ended since its row was read: its end is not in the picture, but the first that follows it.
        if entry.number == run.number and entry.seq == seq + 1 and not entry.is_end:
            transcript.apply(decode_event(entry.frame))
            seq = entry.seq
    return transcript, seq


def _with_asked(
    messages: Iterable[dict[str, Any]], asked: Mapping[str, Sequence[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The messages with those of asked assistants, which come after the message whose call asked them."""
    made: list[dict[str, Any]] = []
    for message in messages:
        made.append(message)
        for call in message.get("toolCalls", ()):
            made.extend(asked.get(call["id"], ()))
    return made


def _described(messages: list[dict[str, Any]], calls: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    for message in messages:
        known = calls.get(message.get("toolCallId", ""))
        if known is not None:
            about = {key: value for key, value in known.items() if value is not None}
            message["metadata"] = {**message.get("metadata", {}), "tool": about}
    return messages
