"""A run that the database cannot store ends for its clients all the same, and is stored with that end later."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.core.values.events import (
    PROTOCOL_VERSION,
    Event,
    RunError,
    RunStarted,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from assistant.models import Message, Provider, Run, ToolCall
from assistant.services.db.threads import in_database
from assistant.services.errors import StorageProblem, storage_problem
from assistant.services.eventlog.configured import configured_log
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry, Position
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.runs import manager as runs
from assistant.services.runs.manager import Runs
from assistant.services.runs.opening.open_run import OpenedRun
from assistant.services.runs.recovery.dead_runs import recover_dead_runs
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.services.runs.test_opening import given
from tests.storage import block_storage, more_than_is_free, unblock_storage
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest_asyncio.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runs]:
    """A process that looks for dead runs every few milliseconds."""
    monkeypatch.setattr(runs, "RENEWAL_SECONDS", 0.02)
    process = Runs()
    yield process
    await in_database(unblock_storage)
    await process.stop()


async def end_unstored(
    member: Member, here: Runs, fake_provider: FakeProvider, problem: StorageProblem
) -> tuple[OpenedRun, list[Entry], str]:
    """Let a run end while the database refuses to write; the run, its events and its answer."""
    answer = await in_database(more_than_is_free)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once ", gate, answer])
    opened = await here.open(member=member, assistant_slug="support", given=given(uuid.uuid4()))
    log = await here.log.open(opened.key.thread)
    await until(lambda: len(log.read(Position(1, 0))) > 2)
    await in_database(block_storage, problem)
    gate.release()
    await until(lambda: log.read(Position(1, 0))[-1].is_end)
    await until(lambda: not here._tasks)
    return opened, log.read(Position(1, 0)), f"Once {answer}"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [("disk full", "disk is full"), ("read-only", "storage is read-only")],
    ids=["full", "read-only"],
)
async def test_clients_get_the_end_and_its_reason_and_the_run_is_stored_later(
    alice_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    counted: Counter[str],
    problem: StorageProblem,
    reason: str,
) -> None:
    opened, events, answer = await end_unstored(alice_member, here, fake_provider, problem)
    assert '"type":"RUN_ERROR"' in events[-1].frame
    assert '"code":"internal_error"' in events[-1].frame
    assert reason in events[-1].frame
    assert [entry.is_end for entry in events].count(True) == 1
    assert counted[problem] == 1
    assert (await Run.objects.aget()).status == Run.Status.RUNNING

    await in_database(unblock_storage)
    await Run.objects.aupdate(lease_until=timezone.now() - timedelta(minutes=1))
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert (run.status, run.error_code, run.checkpoint_seq) == (Run.Status.FAILED, "internal_error", events[-1].seq)
    assert reason in run.error_message
    assert (await Message.objects.aget(role="assistant")).content == answer
    log = await here.log.open(opened.key.thread)
    assert log.read(Position(1, 0)) == events


@pytest.mark.services  # without Redis the tests' log is in the memory of one process
async def test_another_process_finds_the_end_in_the_log(
    alice_member: Member, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    _, events, answer = await end_unstored(alice_member, here, fake_provider, "disk full")
    await here.stop()
    await in_database(unblock_storage)
    await Run.objects.aupdate(lease_until=timezone.now() - timedelta(minutes=1))
    heir = configured_log()
    await heir.start()
    assert await recover_dead_runs(log=heir, owner="heir") == 1
    await heir.close()
    run = await Run.objects.aget()
    assert (run.status, run.checkpoint_seq) == (Run.Status.FAILED, events[-1].seq)
    assert (await Message.objects.aget(role="assistant")).content == answer


async def test_storage_that_is_read_only_is_the_reason_why_a_run_is_not_begun(
    alice_member: Member, provider: Provider, here: Runs
) -> None:
    await here.start()
    await in_database(block_storage, "read-only")
    with pytest.raises(Exception) as caught:
        await here.open(member=alice_member, assistant_slug="support", given=given(uuid.uuid4()))
    assert storage_problem(caught.value) == "read-only"


@pytest.mark.parametrize("has_end", [True, False])
async def test_what_a_recovered_run_has_read_from_outside_is_stored_with_it(cast: Cast, has_end: bool) -> None:
    run = await sync_to_async(_dead_run)(cast)
    log = MemoryLog()
    events: list[Event] = [
        RunStarted(str(run.conversation_id), run.run_id, PROTOCOL_VERSION),
        ToolCallStart("c1", "search_docs", "m1"),
        ToolCallArgs("c1", "{}"),
        ToolCallEnd("c1"),
        ToolCallResult("r1", "c1", "Found.", role="tool"),
        *([RunError("Nothing can be stored.", code="internal_error")] if has_end else []),
    ]
    encoder = FrameEncoder(run_id=run.run_id, thread=str(run.conversation_id))
    entries = [Entry(run.number, seq, encoder.frame(event, seq)) for seq, event in enumerate(events, start=1)]
    log.thread(str(run.conversation_id)).append(entries)
    assert await recover_dead_runs(log=log, owner="heir") == 1
    assert (await Message.objects.aget(role="tool")).sources == ["documents"]


def _dead_run(cast: Cast) -> Run:
    conversation = make_conversation(cast.alice, cast.support)
    lapsed = timezone.now() - timedelta(minutes=1)
    run = make_run(conversation, status=Run.Status.RUNNING, lease_owner="dead", lease_until=lapsed)
    ToolCall.objects.create(
        tenant_id=run.tenant_id,
        run=run,
        call_id="c1",
        name="search_docs",
        status=ToolCall.Status.OK,
        sources=["documents"],
    )
    return run
