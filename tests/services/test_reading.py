"""A run that is stored has an end for every reader, also if its process was killed before it told of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assistant import following
from assistant.following import Follower
from assistant.models import Run
from assistant.services.eventlog import Entry, Position
from assistant.services.leases import RunKey, key_of
from assistant.services.reading import run_entries, tell_stored_end
from assistant.services.runs import get_runs
from tests.base import Cast
from tests.factories import make_conversation, make_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def key(cast: Cast) -> RunKey:
    """A run that is stored; of its three events the log gets two."""
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.FINISHED)
    Run.objects.filter(pk=run.pk).update(
        ending={"type": "RUN_FINISHED", "threadId": str(run.conversation_id), "runId": run.run_id}, checkpoint_seq=3
    )
    return key_of(run, "dead")


async def say_two(key: RunKey) -> None:
    writer = get_runs().log.writer(key.thread, lambda: None)
    for seq in (1, 2):
        writer.write(Entry(key.number, seq, f'{{"seq":{seq}}}'))
    await writer.flush()


async def test_who_reads_a_run_is_told_its_stored_end(key: RunKey) -> None:
    await say_two(key)
    entries = [entry async for entry in run_entries(key=key, patience=0.01) if entry is not None]
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert entries[-1].is_end


async def test_who_follows_a_thread_is_told_its_stored_end(key: RunKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SILENCE_SECONDS", 0.01)
    await say_two(key)
    sent: list[str] = []
    ended = asyncio.Event()

    async def send(frame: str) -> None:
        sent.append(frame)
        if len(sent) == 2:
            ended.set()

    async def refresh() -> Any:
        raise AssertionError("nothing is missing but the end")

    async def no_summary(number: int) -> None:
        raise AssertionError("nobody wants rendered text")

    log = await get_runs().log.open(key.thread)
    follower = Follower(
        thread=key.thread,
        log=log,
        send=send,
        refresh=refresh,
        settle=lambda: tell_stored_end(key=key),
        summary=no_summary,
        gate=asyncio.Semaphore(),
        renders=False,
        speaks_outcomes=True,
    )
    task = asyncio.create_task(follower.follow(Position(key.number, 1)))
    await asyncio.wait_for(ended.wait(), 20)
    task.cancel()
    assert '"RUN_FINISHED"' in sent[-1]


async def test_an_end_that_was_told_is_not_told_again(key: RunKey) -> None:
    await say_two(key)
    assert await tell_stored_end(key=key) and await tell_stored_end(key=key)
    log = await get_runs().log.open(key.thread)
    assert [entry.seq for entry in log.read(Position(key.number, 0))] == [1, 2, 3]
