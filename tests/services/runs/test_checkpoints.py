"""Checkpoints of many runs are stored together, and a failure affects only its own run."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from assistant.models import Provider, Run
from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Position
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs import checkpoints
from assistant.services.runs.checkpoints import CHECKPOINT_SECONDS, CheckpointWriter, checkpoint_pause
from assistant.services.runs.leases import Checkpoint, LostRun
from assistant.services.runs.manager import Runs
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import all_tenants, visible_tenants
from tests.base import Cast
from tests.factories import make_assistant, make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.services.runs.test_opening import given
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keys(cast: Cast) -> list[RunKey]:
    """Running runs of two tenants, four of Acme's and one of Globex's."""
    theirs = make_assistant(cast.globex, "desk", name="Desk")
    talks = [make_conversation(cast.alice, cast.support) for _ in range(4)]
    talks.append(make_conversation(cast.mallory, theirs))
    held = {"status": Run.Status.RUNNING, "lease_owner": "me", "lease_until": timezone.now() + timedelta(minutes=1)}
    return [key_of(make_run(talk, **held), "me") for talk in talks]


@pytest.fixture
def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of checkpoints in each call into a database thread."""
    seen: list[int] = []

    async def counted(function: Callable[..., Any], batch: list[Checkpoint]) -> Any:
        seen.append(len(batch))
        return await in_database(function, batch)

    monkeypatch.setattr(checkpoints, "in_database", counted)
    return seen


async def store_together(keys: list[RunKey]) -> list[Any]:
    writer = CheckpointWriter()
    kept = [writer.store(Checkpoint(key, {"said": key.run_id}, 7)) for key in keys]
    return await asyncio.gather(*kept, return_exceptions=True)


async def stored() -> dict[str, Any]:
    return {run.run_id: (run.partial, run.checkpoint_seq) async for run in Run.objects.order_by("pk")}


async def test_checkpoints_that_are_due_are_stored_together(keys: list[RunKey], batch_sizes: list[int]) -> None:
    assert await store_together(keys) == [False] * 5
    assert batch_sizes == [5]
    assert await stored() == {key.run_id: ({"said": key.run_id}, 7) for key in keys}


async def test_checkpoints_of_one_tenant_share_a_statement(keys: list[RunKey], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_stored_alone", lambda _: DatabaseError("alone"))
    assert await store_together(keys[:4]) == [False] * 4
    assert (await stored())[keys[3].run_id] == ({"said": keys[3].run_id}, 7)


async def test_each_caller_gets_the_result_of_its_own_checkpoint(keys: list[RunKey]) -> None:
    await Run.objects.filter(pk=keys[0].pk).aupdate(cancel_requested_at=timezone.now())
    await Run.objects.filter(pk=keys[1].pk).aupdate(lease_owner="heir")
    cancelled, lost, *others = await store_together(keys)
    assert (cancelled, others) == (True, [False] * 3)
    assert isinstance(lost, LostRun)
    assert (await stored())[keys[1].run_id][1] == 0


async def test_a_checkpoint_that_fails_does_not_prevent_others(keys: list[RunKey]) -> None:
    writer = CheckpointWriter()
    kept = [writer.store(Checkpoint(key, {"n": float("nan") if key == keys[2] else 1.5}, 7)) for key in keys]
    outcomes = await asyncio.gather(*kept, return_exceptions=True)
    assert isinstance(outcomes.pop(2), DatabaseError)
    assert outcomes == [False] * 4
    assert [seq for _, seq in (await stored()).values()] == [7, 7, 0, 7, 7]


async def test_each_checkpoint_is_stored_in_the_scope_of_its_tenant(
    keys: list[RunKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, str] = {}

    def note(key: RunKey, **_: Any) -> bool:
        seen[key.pk] = visible_tenants()
        return False

    def note_all(*, tenant_id: int, checkpoints: list[Checkpoint]) -> set[int]:
        return {one.key.pk for one in checkpoints if not note(one.key)}

    monkeypatch.setattr(checkpoints, "checkpoint_run", note)
    monkeypatch.setattr(checkpoints, "checkpoint_runs", note_all)
    await store_together(keys)
    assert seen == {key.pk: str(key.tenant_id) for key in keys}


async def test_a_batch_gives_up_before_it_causes_a_deadlock(keys: list[RunKey]) -> None:
    """PostgreSQL looks for a deadlock once a transaction has waited for a second; the other one must not fail."""
    first, last = keys[0], keys[3]
    is_held = threading.Event()

    def hold() -> None:
        with all_tenants(), transaction.atomic():
            Run.objects.filter(pk=last.pk).update(error_message="held")
            is_held.set()
            time.sleep(1.3)
            Run.objects.filter(pk=first.pk).update(error_message="held")
        connection.close()

    holding = asyncio.create_task(asyncio.to_thread(hold))
    await asyncio.to_thread(is_held.wait)
    assert await store_together(keys) == [False] * 5
    await holding
    assert [seq for _, seq in (await stored()).values()] == [7] * 5
    assert [run.error_message async for run in Run.objects.filter(pk__in=[first.pk, last.pk])] == ["held", "held"]


async def test_a_run_that_ended_meanwhile_is_left_out(keys: list[RunKey], batch_sizes: list[int]) -> None:
    writer = CheckpointWriter()
    kept = [asyncio.create_task(writer.store(Checkpoint(key, {}, 7))) for key in keys]
    await asyncio.sleep(0)
    kept[0].cancel()
    outcomes = await asyncio.gather(*kept, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert batch_sizes == [4]


@pytest.mark.parametrize(
    ("characters", "seconds"), [(0, CHECKPOINT_SECONDS), (3_000, CHECKPOINT_SECONDS + 1), (1_000_000, 4.0)]
)
def test_longer_answers_are_stored_less_often(characters: int, seconds: float) -> None:
    assert checkpoint_pause(characters) == seconds


@pytest.mark.parametrize("survives_process", [False, True])
async def test_a_long_answer_is_stored_less_often_only_where_the_log_outlives_the_process(
    alice_member: Member,
    provider: Provider,
    fake_provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    *,
    survives_process: bool,
) -> None:
    monkeypatch.setattr(checkpoints, "GATHER_SECONDS", 0.01)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.01)
    monkeypatch.setattr(checkpoints, "CHARACTERS_PER_SECOND", 0.01)
    monkeypatch.setattr(checkpoints, "MAX_CHECKPOINT_SECONDS", 1000.0)
    monkeypatch.setattr(MemoryLog, "survives_process", survives_process)
    seen = {"once": fake_provider.gate(), "twice": fake_provider.gate()}
    fake_provider.reply(chunks=["Once", seen["once"], " and twice", seen["twice"], " and more"])
    here = Runs()
    here.log = MemoryLog()
    opened = await here.open(member=alice_member, assistant_slug="support", given=given(uuid.uuid4()))
    run = Run.objects.filter(pk=opened.key.pk)
    await until(lambda: run.filter(checkpoint_seq=3).exists())
    seen["once"].release()
    thread_log = await here.log.open(opened.key.thread)
    async with asyncio.timeout(20):
        while thread_log.last != Position(opened.key.number, 4):
            await asyncio.sleep(0.01)
    if survives_process:
        await asyncio.sleep(0.2)  # ten times as long as between two checkpoints of a short answer
        assert (await run.aget()).checkpoint_seq == 3
    else:
        await until(lambda: run.filter(checkpoint_seq=4).exists())
    seen["twice"].release()
    await until(lambda: run.filter(status=Run.Status.FINISHED).exists())
    await here.stop()
