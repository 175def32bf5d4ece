"""Reads the state of a thread, and builds the snapshot of it for clients that cannot catch up from the event log."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Q

from assistant.core.conversation.agui_messages import sub_agents_to_agui, to_agui
from assistant.core.conversation.transcript import Transcript
from assistant.core.values.events import PROTOCOL_VERSION, Custom, Event, MessagesSnapshot, RunStarted, TextMessageStart
from assistant.core.values.messages import without_part
from assistant.models import Run
from assistant.services.conversations.added_details import detail_of_event
from assistant.services.eventlog.frames import FrameEncoder, decode_event, stored_event
from assistant.services.eventlog.log import Position, ThreadLog
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.reading.stored_thread import StoredThread, own_thread, readable_runs
from assistant.services.tenancy.members import Member

# If Redis has lost the events since the last checkpoint, a new snapshot is tried this often until the next checkpoint.
SNAPSHOT_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ThreadState:
    """The last run of a thread, and `after`: a client's position in it, None without a known position.

    `has_branches`: another path may be shown than when the client was at its position.
    """

    run: Run
    after: Position | None
    has_branches: bool = False

    @property
    def is_running(self) -> bool:
        return self.run.is_active

    @property
    def is_at_end(self) -> bool:
        """Whether the client's position is the end of the last run, so that it has missed nothing."""
        return not self.is_running and self.after == Position(self.run.number, self.run.checkpoint_seq)


def thread_state(
    *, member: Member, thread_id: uuid.UUID, after_run: str | None = None, after_seq: int = 0
) -> ThreadState | None:
    """Return the state of a member's own thread; None if the member has no such thread.

    For a key that reads its own runs alone, the thread is as if it had no others.

    Args:
        after_run: the id of the run at the client's position; None without a position.
        after_seq: the number of the last event of that run that the client has.
    """
    runs = readable_runs(member).filter(conversation__in=own_thread(member, thread_id))
    last = runs.select_related("conversation").order_by("-number").first()
    if last is None:
        return None
    if after_run is None:
        return ThreadState(last, None)
    number = (
        last.number
        if after_run == last.run_id
        else runs.filter(run_id=after_run).values_list("number", flat=True).first()
    )
    has_branches = bool(last.conversation.branches)
    return ThreadState(last, None if number is None else Position(number, after_seq), has_branches)


def may_read_run(*, member: Member, thread_id: uuid.UUID, number: int) -> bool:
    """Return whether a member may read run `number` of a thread of theirs."""
    return readable_runs(member).filter(conversation__in=own_thread(member, thread_id), number=number).exists()


def find_run(*, member: Member, run_id: str, to_read: bool = True) -> RunKey | None:
    """Return the key of a member's own run; of the newest one if several threads have a run with this id.

    `to_read` leaves out runs that the member's key may not read.
    """
    own = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id)
    if member.assistant_id is not None:
        own = own.filter(assistant_id=member.assistant_id)
    named = (own & readable_runs(member) if to_read else own).filter(Q(run_id=run_id) | Q(continues=run_id))
    run = named.select_related("conversation").order_by("-pk").first()
    return key_of(run, "") if run else None


def run_ending(*, key: RunKey) -> tuple[int, str] | None:
    """Return the number and frame of a run's last event; None while it is running."""
    run = Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).only("ending", "checkpoint_seq").first()
    if run is None or run.ending is None:
        return None
    frame = FrameEncoder(run_id=key.run_id, thread=key.client_thread).frame(
        stored_event(run.ending), run.checkpoint_seq
    )
    return run.checkpoint_seq, frame


def run_before(*, key: RunKey) -> RunKey | None:
    """Return the key of the run before this one in its thread; None if it was deleted."""
    runs = Run.objects.filter(tenant_id=key.tenant_id, conversation_id=key.thread, number=key.number - 1)
    run = runs.select_related("conversation").first()
    return key_of(run, "") if run else None


def can_catch_up(state: ThreadState, log: ThreadLog) -> bool:
    """Return whether the log has every event after the client's position."""
    if state.has_branches and not state.is_running:
        return False
    if state.is_at_end:
        return True
    after, last = state.after, log.last
    return after is not None and last is not None and after <= last and log.holds(after)


def run_state(*, key: RunKey) -> ThreadState:
    """Return the state of a thread as of one of its runs. Raises `Run.DoesNotExist` if it was deleted."""
    return ThreadState(Run.objects.select_related("conversation").get(pk=key.pk, tenant_id=key.tenant_id), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a thread.

    Attributes:
        frames: the frames to send; the first `head` of them precede the run's last event, if it has ended.
        position: where the log continues after the snapshot.
        texts: the id and Markdown of the assistant's messages in it.
        open_texts: the ids of messages that are still being written.
        cut_texts: the ids of messages that were cut off.
        is_end: whether the run has ended.
        encoder: encodes further events of the run.
    """

    frames: list[str]
    head: int
    encoder: FrameEncoder
    position: Position
    texts: list[tuple[str, str]]
    open_texts: frozenset[str]
    cut_texts: frozenset[str]
    is_end: bool


def build_snapshot(*, state: ThreadState, log: ThreadLog, stored: StoredThread) -> Snapshot:
    """Build the snapshot of a thread; the answer of a running run comes from its checkpoint and the log."""
    run = state.run
    thread = run.conversation.thread
    transcript, seq = _running_answer(state, log) if state.is_running else (Transcript(), run.checkpoint_seq)
    stored_ids = {message.id for message in stored.messages}
    all_messages = [*stored.messages, *(message for message in transcript.messages if message.id not in stored_ids)]
    asked = {} if transcript.sub_agents is None else transcript.sub_agents.by_call()
    sub_agents = {call_id: sub_agents_to_agui(runs) for call_id, runs in {**asked, **stored.sub_agents}.items()}
    messages = _with_call_metadata(_with_sub_agents(to_agui(all_messages), sub_agents), stored.calls)
    for message in messages:
        if message["id"] in stored.stopped and message["role"] == "assistant":
            message["metadata"] = {**message.get("metadata", {}), "stopped": True}
        if added := stored.added.get(message["id"]):
            message["metadata"] = {**message.get("metadata", {}), "added": added}
    _add_versions(messages, stored, stored_ids)
    shown = run if state.is_running or stored.last_run is None else stored.last_run
    events: list[Event] = [
        # The frames have the number of the thread's last run, even if another run is shown, because the log continues
        # there.
        RunStarted(thread, shown.shown_id, protocol_version=PROTOCOL_VERSION),
        MessagesSnapshot(messages),
        *transcript.open_events(),
    ]
    encoder = FrameEncoder(run_id=run.run_id, thread=thread)
    frames = [encoder.frame(event, seq) for event in events]
    head = len(frames)
    if not state.is_running and shown.ending is not None:
        frames.append(encoder.frame(stored_event(shown.ending), seq))
    return Snapshot(
        frames=frames,
        head=head,
        encoder=encoder,
        position=Position(run.number, seq),
        texts=[(message["id"], message.get("content", "")) for message in messages if message["role"] == "assistant"],
        is_end=not state.is_running,
        open_texts=frozenset(
            without_part(event.message_id) for event in transcript.open_events() if isinstance(event, TextMessageStart)
        ),
        cut_texts=frozenset(message["id"] for message in messages if message.get("metadata", {}).get("partial")),
    )


def _add_versions(messages: Iterable[dict[str, Any]], stored: StoredThread, stored_ids: set[str]) -> None:
    """Add `metadata.versions` to messages that have several; for the running answer, to its first message."""
    new_version = stored.new_version
    for message in messages:
        version = stored.versions.get(message["id"])
        if version is None and new_version is not None and message["id"] not in stored_ids:
            version, new_version = new_version, None
        if version is not None:
            known = {name: value for name, value in asdict(version).items() if value is not None}
            message["metadata"] = {**message.get("metadata", {}), "versions": known}


def _running_answer(state: ThreadState, log: ThreadLog) -> tuple[Transcript, int]:
    run = state.run
    seq = 0
    transcript = Transcript()
    if not log.holds(Position(run.number, 0)) and run.partial is not None:
        transcript, seq = Transcript.from_state(run.partial), run.checkpoint_seq
    for entry in log.read(Position(run.number, seq)):
        # The run may have ended since its row was read. Its last event then follows the snapshot.
        if entry.number == run.number and entry.seq == seq + 1 and not entry.is_end:
            event = decode_event(entry.frame)
            if isinstance(event, Custom) and detail_of_event(event.name, event.value):
                # What it adds to the answer is not in a transcript, so the event itself follows the snapshot.
                break
            transcript.apply(event)
            seq = entry.seq
    return transcript, seq


def _with_sub_agents(
    messages: Iterable[dict[str, Any]], sub_agents: Mapping[str, Sequence[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Insert the messages of called assistants after the message with the call."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        merged.append(message)
        for call in message.get("toolCalls", ()):
            merged.extend(sub_agents.get(call["id"], ()))
    return merged


def _with_call_metadata(messages: list[dict[str, Any]], calls: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    answered = {message.get("toolCallId") for message in messages}
    for message in messages:
        titles = {
            call["id"]: title
            for call in message.get("toolCalls", ())
            if call["id"] not in answered and (title := calls.get(call["id"], {}).get("title"))
        }
        if titles:
            message["metadata"] = {**message.get("metadata", {}), "titles": titles}
        call = calls.get(message.get("toolCallId", ""))
        if call is not None:
            metadata = {key: value for key, value in call.items() if value is not None}
            message["metadata"] = {**message.get("metadata", {}), "tool": metadata}
    return messages
