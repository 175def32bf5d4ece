"""Runs above a limit wait as rows, in turns between tenants, and end as others do when they are stopped."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from django.utils import timezone

from assistant.core.values.events import Custom, RunError
from assistant.models import Provider, Run, TenantLimits, UsageEntry
from assistant.services.eventlog.frames import decode_event
from assistant.services.eventlog.log import Position
from assistant.services.limits.runs_at_once import TooManyRuns
from assistant.services.runs import manager as runs
from assistant.services.runs.manager import Runs
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.fake_answers import Gate, reply
from tests.fake_provider import FakeProvider
from tests.services.runs.test_opening import given
from tests.websocket.test_websocket import in_db, until

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def process() -> AsyncIterator[Runs]:
    started = Runs()
    try:
        yield started
    finally:
        await started.stop()


@pytest_asyncio.fixture
async def here() -> AsyncIterator[Runs]:
    async with process() as started:
        yield started


@pytest.fixture
def mallory_member(cast: Cast) -> Member:
    found = find_member(user_id=cast.mallory.pk, tenant_slug="globex")
    assert found is not None
    return found


def limited(cast: Cast, **limits: int) -> None:
    TenantLimits.objects.update_or_create(tenant=cast.acme, defaults=limits)


def held(fake_provider: FakeProvider, count: int) -> list[Gate]:
    """The gates at which the next so many answers stop."""
    gates = [fake_provider.gate() for _ in range(count)]
    fake_provider.queue(*(reply(chunks=["Hel", gate, "lo"]) for gate in gates))
    return gates


async def ask(who: Member, here: Runs) -> OpenedRun:
    # As it is found at each message: limits may have changed.
    member = await in_db(find_member)(user_id=who.user_id, tenant_slug=who.tenant.slug)
    return await here.open(member=member, assistant_slug="support", given=given(uuid.uuid4()))


def statuses(*opened: OpenedRun) -> list[str]:
    rows = dict(Run.objects.values_list("pk", "status"))
    return [rows[one.key.pk] for one in opened]


async def has(opened: OpenedRun, status: str) -> None:
    await until(lambda: statuses(opened) == [status])


async def events(here: Runs, opened: OpenedRun, count: int = 1) -> Sequence[Any]:
    """A run's events, once there are so many."""
    log, start = await here.log.open(opened.key.thread), Position(opened.key.number, 0)
    async with asyncio.timeout(20):
        with log.watching() as changed:
            while len(log.read(start)) < count:
                changed.clear()
                await changed.wait()
    return [decode_event(entry.frame) for entry in log.read(start)]


async def test_a_run_above_the_limit_waits_and_starts_when_another_has_ended(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    await in_db(limited)(cast, member_runs=1)
    first, second = held(fake_provider, 2)
    running = await ask(alice_member, here)
    queued = await ask(alice_member, here)
    await asyncio.to_thread(first.wait_reached)
    assert await in_db(statuses)(running, queued) == ["running", "queued"]
    second.release()
    told = [event for event in await events(here, queued, 2) if isinstance(event, Custom)]
    assert [(event.name, event.value["ahead"]) for event in told] == [("run.queued", 0)]
    assert told[0].value["until"] > f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"
    first.release()
    await has(queued, "finished")
    names = [event.__struct_config__.tag for event in await events(here, queued)]
    assert names[:2] == ["RUN_STARTED", "CUSTOM"]
    assert (names.count("RUN_STARTED"), names[-1]) == (1, "RUN_FINISHED")


async def test_a_run_counts_its_seconds_from_its_start(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    await in_db(limited)(cast, member_runs=1)
    gate, _ = held(fake_provider, 2)
    await ask(alice_member, here)
    queued = await ask(alice_member, here)
    task = here._tasks[queued.key.pk]
    before = task._plan.context.deadline
    gate.release()
    await until(lambda: statuses(queued) == ["running"])
    after = task._plan.context.deadline
    assert before is not None
    assert after is not None
    assert after > before


async def test_tenants_take_turns_where_the_process_is_full(
    alice_member: Member,
    mallory_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    settings: Any,
) -> None:
    settings.ASSISTANT_MAX_RUNS = 4
    gates = held(fake_provider, 8)
    await asyncio.gather(*(ask(alice_member, here) for _ in range(4)))
    floods = [await ask(alice_member, here) for _ in range(3)]
    neighbour = await ask(mallory_member, here)
    assert await in_db(statuses)(*floods, neighbour) == ["queued"] * 4
    for gate in gates[:2]:
        await asyncio.to_thread(gate.wait_reached)
        gate.release()
    await has(neighbour, "running")
    assert await in_db(statuses)(*floods) == ["running", "queued", "queued"]
    for gate in gates:
        gate.release()
    await has(floods[-1], "finished")


async def test_a_flood_is_refused_before_the_database_is_asked(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    await in_db(limited)(cast, member_runs=2)
    gates = held(fake_provider, 4)
    member = await in_db(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    inputs = [given(uuid.uuid4()) for _ in range(1_100)]
    opening = [here.open(member=member, assistant_slug="support", given=one) for one in inputs]
    outcomes = await asyncio.gather(*opening, return_exceptions=True)
    assert sum(isinstance(one, TooManyRuns) for one in outcomes) == 1_096
    assert sorted(await in_db(lambda: list(Run.objects.values_list("status", flat=True)))()) == [
        *["queued"] * 2,
        *["running"] * 2,
    ]
    with pytest.raises(TooManyRuns):
        here.queue.enter(member)  # which asks no database
    known = next(one for one, outcome in zip(inputs, outcomes, strict=True) if isinstance(outcome, OpenedRun))
    assert (await here.open(member=member, assistant_slug="support", given=known)).setup is None
    for gate in gates:
        gate.release()
    await until(lambda: Run.objects.filter(status="finished").count() == 4)
    # A run's place is given back after its row is written.
    await until(lambda: not here.queue._active)
    assert len(here.queue) == len(here.queue._places) == 0


async def test_a_run_that_waits_too_long_ends_with_a_typed_error(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs, settings: Any
) -> None:
    await in_db(limited)(cast, member_runs=1)
    (gate,) = held(fake_provider, 1)
    await ask(alice_member, here)
    settings.ASSISTANT_RUN_QUEUE_SECONDS = 0.2
    queued = await ask(alice_member, here)
    await has(queued, "failed")
    end = (await events(here, queued, 3))[-1]
    assert isinstance(end, RunError)
    assert (end.code, end.message.endswith("Try again in 10 seconds.")) == ("limit_reached", True)
    assert len(fake_provider.requests) == 1
    assert await UsageEntry.objects.filter(run_id=queued.key.pk).acount() == 0
    gate.release()


async def test_a_queued_run_can_be_cancelled(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    await in_db(limited)(cast, member_runs=1)
    first, second = held(fake_provider, 2)
    await ask(alice_member, here)
    cancelled, last = await ask(alice_member, here), None
    assert await here.cancel(member=alice_member, run_id=cancelled.key.run_id)
    await has(cancelled, "cancelled")
    last = await ask(alice_member, here)
    first.release()
    second.release()
    await has(last, "finished")
    assert len(fake_provider.requests) == 2


async def test_a_queued_run_ends_with_its_members_access(
    alice_member: Member,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
    here: Runs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "RENEWAL_SECONDS", 0.02)
    await in_db(limited)(cast, member_runs=1)
    held(fake_provider, 1)
    running, queued = await ask(alice_member, here), await ask(alice_member, here)
    await in_db(lambda: type(cast.acme).objects.filter(pk=cast.acme.pk).update(is_active=False))()
    await until(lambda: statuses(running, queued) == ["cancelled", "cancelled"])


async def test_a_thread_with_a_queued_run_is_busy(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    await in_db(limited)(cast, member_runs=2)
    gates = held(fake_provider, 2)
    for _ in gates:
        await ask(alice_member, here)
    queued = await ask(alice_member, here)
    with pytest.raises(Exception, match="still being answered") as refused:
        await here.open(member=alice_member, assistant_slug="support", given=given(uuid.UUID(queued.key.thread)))
    assert refused.value.code == "thread_busy"  # type: ignore[attr-defined]
    for gate in gates:
        gate.release()


async def test_a_queued_run_starts_when_a_run_of_another_process_has_ended(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    """Without a message, as without Redis: the housekeeping looks."""
    await in_db(limited)(cast, member_runs=1)
    (gate,) = held(fake_provider, 1)
    async with process() as there:
        running = await ask(alice_member, there)
        queued = await ask(alice_member, here)
        assert await in_db(statuses)(running, queued) == ["running", "queued"]
        gate.release()
        await has(queued, "finished")


async def test_processes_say_that_runs_are_queued_and_have_ended(here: Runs) -> None:
    queue, woken = here.queue, here.queue._changed
    queue.on_message("queued", f"{here.owner} 1")
    queue.on_message("queued", "there 2")
    queue.on_message("queued", "there nonsense")
    assert (queue.is_awaited(1), queue.is_awaited(2)) == (False, True)
    queue.on_message("freed", "there 2")
    assert not woken.is_set()  # nothing is queued here


async def test_a_raised_limit_holds_for_members_who_were_here_before(
    alice_member: Member, cast: Cast, provider: Provider, fake_provider: FakeProvider, here: Runs
) -> None:
    await in_db(limited)(cast, member_runs=1)
    old = await in_db(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    await in_db(limited)(cast, member_runs=3)
    gates = held(fake_provider, 4)
    for _ in range(4):
        await here.open(member=old, assistant_slug="support", given=given(uuid.uuid4()))
    assert await Run.objects.filter(status="running").acount() == 3
    for gate in gates:
        gate.release()
    await until(lambda: Run.objects.filter(status="finished").count() == 4)
