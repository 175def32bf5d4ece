"""The rounds in which a process looks for dead runs; it never recovers a run that it works on itself."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from assistant.models import Message, Provider, Run, ToolCall
from assistant.services.eventlog import memory
from assistant.services.eventlog.log import Entry, Fenced, ThreadLog, Writer
from assistant.services.eventlog.memory import MemoryLog, MemoryWriter
from assistant.services.runs import manager as runs
from assistant.services.runs.leases import DeadRun, take_over_dead_runs
from assistant.services.runs.manager import Runs
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.recovery import dead_runs, recovery_task
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.services.runs.test_opening import given
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest_asyncio.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runs]:
    """A process that looks for dead runs every few milliseconds."""
    monkeypatch.setattr(runs, "RENEWAL_SECONDS", 0.02)
    process = Runs()
    yield process
    await process.stop()


@dataclass
class Rounds:
    """What each round found. Before it, all leases are set to have expired, `ago` before now."""

    ago: timedelta | None = None
    found: list[list[DeadRun]] = field(default_factory=list)

    @transaction.atomic  # otherwise a server of the test run might take it over first
    def take_over(self, **choice: Any) -> list[DeadRun]:
        if self.ago is not None:
            Run.objects.update(lease_until=timezone.now() - self.ago)
        self.found.append(take_over_dead_runs(**choice))
        if self.ago is not None:
            Run.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
        return self.found[-1]

    async def more_rounds(self) -> None:
        before = len(self.found)
        await until(lambda: len(self.found) > before + 3)

    async def find_expired(self, ago: timedelta) -> None:
        """From now on let leases have expired for so long, and wait for some rounds that began since."""
        await self.more_rounds()
        self.ago = ago
        await self.more_rounds()


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    rounds = Rounds()
    monkeypatch.setattr(dead_runs, "take_over_dead_runs", rounds.take_over)
    return rounds


async def begin(alice_member: Member, here: Runs) -> OpenedRun:
    return await here.open(member=alice_member, assistant_slug="support", given=given(uuid.uuid4()))


async def test_a_process_never_recovers_a_run_that_it_works_on(
    alice_member: Member, provider: Provider, fake_provider: FakeProvider, here: Runs, rounds: Rounds
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate, " more"])
    opened = await begin(alice_member, here)
    await rounds.find_expired(timedelta(minutes=1))
    gate.release()
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert (run.pk, run.status) == (opened.key.pk, Run.Status.FINISHED)
    assert not any(rounds.found)


async def test_leases_are_renewed_before_each_look_for_dead_runs(
    alice_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    rounds: Rounds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_before: list[int] = []

    def note(**_: Any) -> list[int]:
        looked_before.append(len(rounds.found))
        return []

    monkeypatch.setattr(runs, "renew_leases", note)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate])
    await begin(alice_member, here)
    await until(lambda: len(looked_before) > 3)
    gate.release()
    first = looked_before[0]
    assert looked_before[:4] == [first, first + 1, first + 2, first + 3]


async def test_a_process_never_recovers_a_run_that_it_is_starting(
    alice_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    rounds: Rounds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_provider.reply("Hello")
    is_stored, can_begin, start_run = asyncio.Event(), asyncio.Event(), here.log.start_run

    async def start_later(thread: str, number: int) -> ThreadLog:
        is_stored.set()
        await can_begin.wait()
        return await start_run(thread, number)

    monkeypatch.setattr(here.log, "start_run", start_later)
    opening = asyncio.create_task(begin(alice_member, here))
    await is_stored.wait()
    await rounds.find_expired(timedelta(minutes=1))
    can_begin.set()
    await opening
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert run.status == Run.Status.FINISHED
    assert not any(rounds.found)


async def test_a_lease_that_expires_during_a_round_is_left_to_the_next(cast: Cast, here: Runs, rounds: Rounds) -> None:
    await sync_to_async(make_running)(cast, "me")
    await here.start()
    await rounds.find_expired(timedelta(0))
    assert not any(rounds.found)


async def test_a_run_that_cannot_be_started_is_recovered(
    alice_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    rounds: Rounds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_provider.reply("Hello")

    async def never(thread: str, number: int) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(here.log, "start_run", never)
    monkeypatch.setattr(runs, "PREPARE_SECONDS", 0.2)
    with pytest.raises(TimeoutError):
        await begin(alice_member, here)
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert (run.status, len(run.resumes)) == (Run.Status.FINISHED, 1)
    assert any(rounds.found)


@pytest.mark.parametrize(("alive", "taken"), [(True, 0), (False, 1)])
def test_runs_in_progress_here_are_not_taken_over(cast: Cast, rounds: Rounds, alive: bool, taken: int) -> None:
    run = make_running(cast, "another")
    ToolCall.objects.create(tenant_id=run.tenant_id, run=run, call_id="c", name="pay", status=ToolCall.Status.RUNNING)
    rounds.ago = timedelta(minutes=1)
    assert len(rounds.take_over(owner="me", alive=[run.pk] if alive else [])) == taken
    assert ToolCall.objects.get().status == (ToolCall.Status.INTERRUPTED if taken else ToolCall.Status.RUNNING)


def make_running(cast: Cast, owner: str, until: datetime | None = None) -> Run:
    held = until or timezone.now() + timedelta(minutes=1)
    conversation = make_conversation(cast.alice, cast.support)
    return make_run(conversation, status=Run.Status.RUNNING, lease_owner=owner, lease_until=held)


class BreakingWriter(MemoryWriter):
    """Accepts a number of events, and then fails."""

    def __init__(self, log: ThreadLog, on_failure: Callable[[], object], failure: Exception, events: int) -> None:
        super().__init__(log)
        self._on_failure, self._failure, self._left = on_failure, failure, events

    def write(self, entry: Entry) -> None:
        if self._left:
            self._left -= 1
            super().write(entry)
        elif self.failure is None:
            self.failure = self._failure
            self._on_failure()

    async def flush(self) -> None:
        if self.failure is not None:
            raise self.failure


class BreakingLog(MemoryLog):
    """A log that breaks in the middle of a run."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self._failure = failure

    def writer(self, thread: str, on_failure: Callable[[], object]) -> Writer:
        return BreakingWriter(self.thread(thread), on_failure, self._failure, events=3)


async def test_a_run_without_its_event_log_continues_and_is_stored_completely(
    alice_member: Member, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    here.log = BreakingLog(RedisConnectionError("away"))
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", " upon", gate, " a time"])
    await begin(alice_member, here)
    # Checkpoints are stored although the log cannot be reached.
    await until(lambda: "upon" in str(Run.objects.get().partial))
    gate.release()
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert run.status == Run.Status.FINISHED
    answer = await Message.objects.aget(role="assistant")
    assert (answer.content, answer.is_partial) == ("Once upon a time", False)


async def test_a_fenced_run_is_left_to_the_other_process(
    alice_member: Member, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    here.log = BreakingLog(Fenced("thread"))
    fake_provider.reply(chunks=["Once", " upon", " a time"])
    opened = await begin(alice_member, here)
    await until(lambda: not here._tasks)
    assert (await Run.objects.aget(pk=opened.key.pk)).status == Run.Status.RUNNING
    assert not await Message.objects.filter(role="assistant").aexists()


async def test_leases_are_renewed_while_a_recovery_hangs(
    alice_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang(**_: Any) -> int:
        await asyncio.Event().wait()
        return 0

    renewals: list[list[int]] = []

    def renew(*, owner: str, runs: list[int]) -> list[int]:
        renewals.append(runs)
        return []

    monkeypatch.setattr(recovery_task, "recover_dead_runs", hang)
    monkeypatch.setattr(runs, "renew_leases", renew)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate])
    await begin(alice_member, here)
    await until(lambda: len(renewals) > 3)
    gate.release()


async def test_idle_threads_are_dropped_although_no_run_starts(
    here: Runs, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "SWEEP_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.0)
    here.log = MemoryLog()
    here.log.thread("idle").append((Entry(1, 1, "{}"),))
    await here.start()
    async with asyncio.timeout(20):
        while here.log.size() != (0, 0):
            await asyncio.sleep(0.01)
