"""Rows and events of runs as a process leaves them that dies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from assistant.core.conversation.transcript import Transcript
from assistant.core.values import events
from assistant.core.values.events import PROTOCOL_VERSION, Event, RunStarted
from assistant.models import Run, ToolCall
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.runs.leases import LEASE_SECONDS, MAX_STEP_BACK_SECONDS
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run

# A lease that ends later counts as one from before the clock went back, and its run is taken over at the next look.
LONGEST_LEASE = timedelta(seconds=LEASE_SECONDS + MAX_STEP_BACK_SECONDS - 1)
TEXT = [events.TextMessageStart("m1", "assistant"), events.TextMessageContent("m1", "Once upon")]


def call_of(name: str, arguments: str = "{}") -> list[Event]:
    return [
        events.ToolCallStart("c1", name, "m1"),
        events.ToolCallArgs("c1", arguments),
        events.ToolCallEnd("c1"),
    ]


def leave_run(cast: Cast, made: Sequence[Event] = (), *, log: MemoryLog | None = None, **columns: Any) -> Run:
    """Store a run whose process will be found dead in a minute; `made` is in its checkpoint and, if given, its log."""
    talk = make_conversation(cast.alice, cast.support)
    columns = {"status": Run.Status.RUNNING, "lease_owner": "dead", **columns}
    run = make_run(talk, lease_until=timezone.now() + LONGEST_LEASE, **columns)
    make_message(talk, "user", "Tell me", run=run, position=0)
    told = [RunStarted(talk.thread, run.run_id, PROTOCOL_VERSION), *made] if made else []
    transcript = Transcript()
    for event in told:
        transcript.apply(event)
    Run.objects.filter(pk=run.pk).update(partial=transcript.to_state(), checkpoint_seq=len(told))
    encoder = FrameEncoder(run_id=run.run_id, thread=talk.thread)
    if log is not None:
        frames = enumerate(told, start=1)
        log.thread(str(talk.pk)).append([Entry(run.number, seq, encoder.frame(one, seq)) for seq, one in frames])
    return run


def begin_call(run: Run, name: str, status: str = ToolCall.Status.RUNNING, **columns: Any) -> ToolCall:
    """Store that a call of a run has begun."""
    return ToolCall.objects.create(
        tenant_id=run.tenant_id, run=run, name=name, status=status, **{"call_id": "c1", "arguments": "{}", **columns}
    )
