"""Answers so far, stored together: one crossing for all, and what befalls one run befalls no other."""

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
from assistant.services.runs import checkpoints, run_task
from assistant.services.runs.checkpoints import CheckpointWriter
from assistant.services.runs.leases import Checkpoint, LostRun
from assistant.services.runs.manager import Runs
from assistant.services.runs.run_task import CHECKPOINT_SECONDS, checkpoint_pause
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
def crossings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many checkpoints went with each crossing into the database."""
    seen: list[int] = []

    async def counted(function: Callable[..., Any], batch: list[Checkpoint]) -> Any:
        seen.append(len(batch))
        return await in_database(function, batch)

    monkeypatch.setattr(checkpoints, "in_database", counted)
    return seen


async def keep_all(keys: list[RunKey]) -> list[Any]:
    together = CheckpointWriter()
    kept = [together.store(Checkpoint(key, {"said": key.run_id}, 7)) for key in keys]
    return await asyncio.gather(*kept, return_exceptions=True)


async def stored() -> dict[str, Any]:
    return {run.run_id: (run.partial, run.checkpoint_seq) async for run in Run.objects.order_by("pk")}


async def test_all_that_are_due_go_together(keys: list[RunKey], crossings: list[int]) -> None:
    assert await keep_all(keys) == [False] * 5
    assert crossings == [5]
    assert await stored() == {key.run_id: ({"said": key.run_id}, 7) for key in keys}


async def test_those_of_one_tenant_need_no_statement_of_their_own(
    keys: list[RunKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "_stored_alone", lambda _: DatabaseError("alone"))
    assert await keep_all(keys[:4]) == [False] * 4
    assert (await stored())[keys[3].run_id] == ({"said": keys[3].run_id}, 7)


async def test_each_is_told_what_became_of_its_own(keys: list[RunKey]) -> None:
    await Run.objects.filter(pk=keys[0].pk).aupdate(cancel_requested_at=timezone.now())
    await Run.objects.filter(pk=keys[1].pk).aupdate(lease_owner="heir")
    cancelled, lost, *others = await keep_all(keys)
    assert (cancelled, others) == (True, [False] * 3)
    assert isinstance(lost, LostRun)
    assert (await stored())[keys[1].run_id][1] == 0


async def test_one_that_cannot_be_stored_keeps_no_other_from_it(keys: list[RunKey]) -> None:
    together = CheckpointWriter()
    kept = [together.store(Checkpoint(key, {"n": float("nan") if key == keys[2] else 1.5}, 7)) for key in keys]
    outcomes = await asyncio.gather(*kept, return_exceptions=True)
    assert isinstance(outcomes.pop(2), DatabaseError)
    assert outcomes == [False] * 4
    assert [seq for _, seq in (await stored()).values()] == [7, 7, 0, 7, 7]


async def test_each_is_written_in_sight_of_its_own_tenant(keys: list[RunKey], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, str] = {}

    def note(key: RunKey, **_: Any) -> bool:
        seen[key.pk] = visible_tenants()
        return False

    def note_all(*, tenant_id: int, checkpoints: list[Checkpoint]) -> set[int]:
        return {one.key.pk for one in checkpoints if not note(one.key)}

    monkeypatch.setattr(checkpoints, "checkpoint_run", note)
    monkeypatch.setattr(checkpoints, "checkpoint_runs", note_all)
    await keep_all(keys)
    assert seen == {key.pk: str(key.tenant_id) for key in keys}


async def test_whoever_holds_a_run_and_wants_another_gets_it(keys: list[RunKey]) -> None:
    """A deadlock is looked for once, a second after somebody begins to wait: by him who waits for what we hold."""
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
    assert await keep_all(keys) == [False] * 5
    await holding
    assert [seq for _, seq in (await stored()).values()] == [7] * 5
    assert [run.error_message async for run in Run.objects.filter(pk__in=[first.pk, last.pk])] == ["held", "held"]


async def test_who_has_ended_meanwhile_is_left_out(keys: list[RunKey], crossings: list[int]) -> None:
    together = CheckpointWriter()
    kept = [asyncio.create_task(together.store(Checkpoint(key, {}, 7))) for key in keys]
    await asyncio.sleep(0)
    kept[0].cancel()
    outcomes = await asyncio.gather(*kept, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert crossings == [4]


@pytest.mark.parametrize(
    ("characters", "seconds"), [(0, CHECKPOINT_SECONDS), (3_000, CHECKPOINT_SECONDS + 1), (1_000_000, 4.0)]
)
def test_the_longer_an_answer_the_rarer_it_is_stored(characters: int, seconds: float) -> None:
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
    monkeypatch.setattr(run_task, "CHECKPOINT_SECONDS", 0.01)
    monkeypatch.setattr(run_task, "CHARACTERS_PER_SECOND", 0.01)
    monkeypatch.setattr(run_task, "MAX_CHECKPOINT_SECONDS", 1000.0)
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
