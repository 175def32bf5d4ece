"""A call runs once: its recorded outcome is replayed in the same run, after an approval and after a crash."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from assistant.core.conversation.transcript import Transcript
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.toolcalls.batch import Batch, CallEnvironment
from assistant.core.toolcalls.protocols import FixedToolset, RunTakenOver, ToolOutcome
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Event, RunStarted, TextMessageContent, TextMessageStart
from assistant.core.values.limits import Limits
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Message, Run, ToolCall
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry, Position
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.follow_run import run_entries
from assistant.services.runs.leases import DeadRun, take_over_dead_runs
from assistant.services.runs.manager import get_runs
from assistant.services.runs.recovery import dead_runs
from assistant.services.runs.recovery.dead_runs import SKIPPED_NUMBERS, recover_dead_runs
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.run_journal import AuditJournal, record_outcomes
from assistant.toolkit import TenantInfo, Tool, ToolContext, ToolError, ToolResult, tool
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run
from tests.websocket.test_websocket import in_db, until

pytestmark = pytest.mark.django_db(transaction=True)

done: list[int] = []


@tool
def pay(amount: int) -> ToolResult:
    """Pay."""
    done.append(amount)
    return ToolResult(f"Paid {amount}.", display={"amount": amount})


@pytest.fixture
def run(cast: Cast) -> Run:
    done.clear()
    conversation = make_conversation(cast.alice, cast.support, message_count=1)
    make_message(conversation, position=0)
    held = timezone.now() + timedelta(hours=1)
    return make_run(conversation, status=Run.Status.RUNNING, lease_owner="dead", lease_until=held)


@pytest.fixture(autouse=True)
def _expire_at_recovery(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the lease expire in the transaction that takes the run over, so that no server of the test run does it."""

    @transaction.atomic
    def expire_and_take_over(*, owner: str, **choice: Any) -> list[DeadRun]:
        Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
        return take_over_dead_runs(owner=owner, **choice)

    monkeypatch.setattr(dead_runs, "take_over_dead_runs", expire_and_take_over)


async def execute(key: RunKey, paying: Any = pay, arguments: str = '{"amount": 5}') -> Any:
    """Run the same call of the same run, as any process does that works on the run."""
    environment = CallEnvironment(
        toolset=FixedToolset([paying]),
        journal=AuditJournal(key, "acme"),
        context=ToolContext(tenant=TenantInfo(key.tenant_id, "acme"), run_id=key.run_id),
        limiter=CallLimiter(Limits()),
        transcript=Transcript(),
        deadline=Deadline(0),
    )
    batch = Batch([Call("c1", "pay", arguments)], environment)
    async for _ in batch.run():
        pass
    return batch.outcomes["c1"]


async def test_a_repeated_execution_returns_the_stored_result(run: Run) -> None:
    key = key_of(run, "dead")
    first, second = await execute(key), await execute(key)
    assert done == [5]
    assert (second.status, second.content, second.display) == (first.status, first.content, first.display)
    assert await ToolCall.objects.acount() == 1


async def test_calls_do_not_begin_when_another_process_has_the_run(run: Run) -> None:
    with pytest.raises(RunTakenOver):
        await execute(key_of(run, "stopped for too long"))
    assert done == []
    assert not await ToolCall.objects.aexists()


async def test_a_replay_returns_what_the_model_read_not_the_whole_result(run: Run) -> None:
    long = Tool.from_function(lambda amount: "x" * 60_000, name="pay", description="Pay.", parameters=pay.parameters)
    key = key_of(run, "dead")
    first, second = await execute(key, long), await execute(key, long)
    assert len(first.content) < 45_000
    assert second.content == first.content
    assert len((await ToolCall.objects.aget()).result) == 60_000


async def test_characters_that_databases_cannot_store_are_removed_from_a_refusal(run: Run) -> None:
    outcome = await execute(key_of(run, "dead"), arguments='{"amount": 5, "a\\u0000b": 1}')
    stored = await ToolCall.objects.aget()
    assert (done, stored.status) == ([], "error")
    for text in (outcome.content, stored.error):
        assert "ab: unknown" in text


@pytest.mark.parametrize(("idempotent", "runs"), [(False, 0), (True, 1)])
async def test_an_interrupted_call_runs_again_only_if_it_is_idempotent(run: Run, idempotent: bool, runs: int) -> None:
    await ToolCall.objects.acreate(
        tenant_id=run.tenant_id, run=run, call_id="c1", name="pay", status=ToolCall.Status.INTERRUPTED
    )
    outcome = await execute(key_of(run, "dead"), pay.replace(idempotent=idempotent))
    assert len(done) == runs
    assert ("whether it took effect is not known" in outcome.content) is not idempotent


async def test_a_process_that_has_lost_the_run_adds_no_call_to_it(run: Run) -> None:
    cancelled = ToolOutcome(Call("c1", "pay", "{}"), "cancelled", "")
    for owner, rows in (("stopped", 0), ("dead", 1)):
        await in_db(record_outcomes)(key=key_of(run, owner), rows={}, outcomes=[cancelled])
        assert await ToolCall.objects.acount() == rows


async def recovered() -> list[tuple[str, str]]:
    assert await recover_dead_runs(log=MemoryLog(), owner="heir") == 1
    rows = Message.objects.exclude(role="user").order_by("position")
    return [(row.role, row.content) async for row in rows]


async def test_a_crash_before_a_checkpoint_loses_neither_call_nor_result(run: Run) -> None:
    await execute(key_of(run, "dead"))
    await ToolCall.objects.acreate(tenant_id=run.tenant_id, run=run, call_id="c2", name="pay", arguments="{}")
    await ToolCall.objects.acreate(tenant_id=run.tenant_id, run=run, call_id="c3", name="inner", agent="ask_expert")
    assert await recovered() == [
        ("assistant", ""),
        ("tool", "Paid 5."),
        ("tool", "Interrupted before there was a result; whether the tool took effect is not known."),
    ]
    calls = (await Message.objects.aget(role="assistant")).tool_calls
    assert [call["id"] for call in calls] == ["c1", "c2"]


async def test_a_recovered_run_without_events_gets_a_start_and_an_end(run: Run) -> None:
    log = MemoryLog()
    assert await recover_dead_runs(log=log, owner="heir") == 1
    entries = (await log.open(str(run.conversation_id))).read(Position(run.number, 0))
    assert [json.loads(entry.frame)["type"] for entry in entries] == ["RUN_STARTED", "RUN_ERROR"]
    # Events may have been seen and lost.
    assert [entry.seq for entry in entries] == [SKIPPED_NUMBERS + 1, SKIPPED_NUMBERS + 2]


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize(
    ("kept", "is_lost"), [([1, 2, 3], False), ([1, 2, 3, 4, 5], False), ([8, 9], True), ([], True)]
)
async def test_a_recovery_continues_the_numbers_of_a_complete_log(run: Run, kept: list[int], *, is_lost: bool) -> None:
    transcript = Transcript()
    transcript.apply(TextMessageStart("m", "assistant"))
    await Run.objects.filter(pk=run.pk).aupdate(partial=transcript.to_state(), checkpoint_seq=3)
    key, log = key_of(run, "dead"), MemoryLog()
    thread_log = await log.open(key.thread)
    numbering = FrameEncoder(run_id=key.run_id, thread=key.thread)
    thread_log.append([Entry(key.number, seq, numbering.frame(TextMessageContent("m", "word "), seq)) for seq in kept])
    assert await recover_dead_runs(log=log, owner="heir") == 1
    text_end, end = thread_log.read(Position(key.number, max(kept, default=3)))
    assert end.is_end
    assert end.seq == text_end.seq + 1 == max(kept, default=3) + is_lost * SKIPPED_NUMBERS + 2


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize(("checkpoint", "seen"), [(3, 4), (3, 5), (3, 6), (0, 2)])
async def test_a_recovery_skips_numbers_after_a_loss_of_events(
    run: Run, alice_member: Member, checkpoint: int, seen: int
) -> None:
    key = key_of(run, "dead")
    said: list[Event] = [RunStarted(key.thread, key.run_id), TextMessageStart("m", "assistant")]
    said += [TextMessageContent("m", f"word{n} ") for n in range(seen - len(said))]
    kept = Transcript()
    for event in said[:checkpoint]:
        kept.apply(event)
    partial = kept.to_state() if checkpoint else None
    await Run.objects.filter(pk=run.pk).aupdate(partial=partial, checkpoint_seq=checkpoint)
    numbering = FrameEncoder(run_id=key.run_id, thread=key.thread)
    shown = await get_runs().log.open(key.thread)
    shown.append([Entry(key.number, seq, numbering.frame(event, seq)) for seq, event in enumerate(said, 1)])
    lost = MemoryLog()
    assert await recover_dead_runs(log=lost, owner="heir") == 1
    shown.append((await lost.open(key.thread)).read(Position(key.number, 0)))
    reader = run_entries(key=key, after=seen, idle_seconds=0.01, member=alice_member)
    told = [json.loads(entry.frame) async for entry in reader if entry]
    assert [event["type"] for event in told] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_ERROR"]
    assert told[1]["messages"][-1]["content"] == ("word0 " if checkpoint else "Hello")


@pytest.mark.usefixtures("unrecorded")
async def test_an_approved_call_that_a_crash_interrupts_is_not_shown_as_declined(run: Run) -> None:
    asked = await in_db(make_run)(run.conversation, status=Run.Status.WAITING)
    for call_id, status in {"a": ToolCall.Status.RUNNING, "b": ToolCall.Status.APPROVED}.items():
        await ToolCall.objects.acreate(tenant_id=run.tenant_id, run=asked, call_id=call_id, name="pay", status=status)
    calls = [{"id": call_id, "name": "pay", "arguments": "{}"} for call_id in ("a", "b")]
    await in_db(make_message)(run.conversation, "assistant", "", position=1, tool_calls=calls)
    run.conversation.message_count = 2
    await run.conversation.asave()
    told = await recovered()
    assert told[1:] == [
        ("tool", "Interrupted before there was a result; whether the tool took effect is not known."),
        ("tool", "Not run: the server stopped first."),
    ]
    assert (await ToolCall.objects.aget(call_id="a")).status == ToolCall.Status.INTERRUPTED


async def test_a_result_that_is_too_long_to_store_says_where_it_was_cut(run: Run) -> None:
    long = Tool.from_function(lambda amount: "x" * 1_200_000, name="pay", description="Pay.", parameters=pay.parameters)
    await execute(key_of(run, "dead"), long)
    row = await ToolCall.objects.aget()
    assert row.result.startswith("x" * 1_000_000) and row.result.endswith("of 1,200,000 characters are shown.]")
    assert row.told.endswith("of 1,200,000 characters are shown.]") and len(row.told) < 45_000


async def test_a_long_error_is_cut_like_a_result(run: Run) -> None:
    def fail(amount: int) -> None:
        raise ToolError("y" * 60_000)

    failing = Tool.from_function(fail, name="pay", description="Pay.", parameters=pay.parameters)
    outcome = await execute(key_of(run, "dead"), failing)
    row = await ToolCall.objects.aget()
    assert outcome.content.endswith("of 60,000 characters are shown.]") and row.told == outcome.content
    assert row.result == "y" * 60_000 and len(row.error) < 45_000


async def test_how_a_call_ended_after_its_time_is_added_to_its_row(run: Run) -> None:
    released = threading.Event()

    def slow(amount: int) -> str:
        released.wait(20)
        return f"Paid {amount} after all."

    paying = Tool.from_function(slow, name="pay", description="Pay.", parameters=pay.parameters, timeout=0.05)
    outcome = await execute(key_of(run, "dead"), paying)
    row = await ToolCall.objects.aget()
    assert (row.status, row.result) == ("timeout", outcome.content) and "may complete" in row.result
    released.set()
    row = await until(lambda: ToolCall.objects.filter(result="Paid 5 after all.").first())
    assert (row.status, row.told) == ("timeout", outcome.content)
    assert "It completed after" in row.error and row.duration_ms >= 50
