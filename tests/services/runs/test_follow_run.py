"""Every reader gets the end of a stored run, even if its process was killed before it wrote the last event."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from assistant.core.conversation.transcript import Transcript
from assistant.core.values.events import (
    Event,
    RunError,
    RunFinished,
    RunStarted,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
)
from assistant.models import Conversation, Run
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry, EventLog, Position
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs import follow_run
from assistant.services.runs.follow_run import run_entries
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.reading.stored_thread import stored_thread
from assistant.services.runs.reading.thread_snapshot import ThreadState, build_snapshot
from assistant.services.tenancy.members import Member
from assistant.services.token_bucket import Bucket
from assistant.websocket import follower as following
from assistant.websocket.follower import FollowedThreads, Follower
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run
from tests.fake_provider import FakeProvider
from tests.services.runs.test_opening import given

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def key(cast: Cast) -> RunKey:
    """A finished run with three events, of which the tests write two to the log."""
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.FINISHED)
    Run.objects.filter(pk=run.pk).update(
        ending={"type": "RUN_FINISHED", "threadId": str(run.conversation_id), "runId": run.run_id}, checkpoint_seq=3
    )
    return key_of(run, "dead")


def running_run(cast: Cast) -> Run:
    return make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING)


async def write_two_events(key: RunKey) -> None:
    writer = get_runs().log.writer(key.thread, lambda: None)
    for seq in (1, 2):
        writer.write(Entry(key.number, seq, f'{{"seq":{seq}}}'))
    await writer.flush()


async def test_a_reader_of_a_run_gets_its_stored_end(key: RunKey) -> None:
    await write_two_events(key)
    entries = [entry async for entry in run_entries(key=key, idle_seconds=0.01) if entry is not None]
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert entries[-1].is_end


def kinds(entries: list[Entry]) -> list[tuple[int, str]]:
    return [(entry.seq, json.loads(entry.frame)["type"]) for entry in entries]


async def test_a_reader_gets_a_snapshot_if_the_events_are_gone(key: RunKey, alice_member: Member) -> None:
    expected = [(0, "RUN_STARTED"), (0, "MESSAGES_SNAPSHOT"), (3, "RUN_FINISHED")]
    for after in (0, 2):
        entries = [
            entry async for entry in run_entries(key=key, after=after, idle_seconds=0.01, member=alice_member) if entry
        ]
        assert kinds(entries) == expected
    assert [entry async for entry in run_entries(key=key, after=3, idle_seconds=0.01, member=alice_member)] == []


async def test_an_end_that_comes_while_a_snapshot_is_built_follows_it(cast: Cast, alice_member: Member) -> None:
    run = await sync_to_async(running_run)(cast)
    key = key_of(run, "")
    numbering = FrameEncoder(run_id=key.run_id, thread=key.thread)
    said = [
        RunStarted(key.thread, key.run_id),
        TextMessageStart("m", "assistant"),
        TextMessageContent("m", "Done."),
        TextMessageEnd("m"),
        RunFinished(key.thread, key.run_id),
    ]
    writer = get_runs().log.writer(key.thread, lambda: None)
    for seq, event in enumerate(said, 1):
        writer.write(Entry(key.number, seq, numbering.frame(event, seq)))
    await writer.flush()
    log = await get_runs().log.open(key.thread)
    stored = await sync_to_async(stored_thread)(member=alice_member, thread_id=run.conversation_id)
    built = build_snapshot(state=ThreadState(run, None), log=log, stored=stored)
    assert built.texts == [("m", "Done.")]
    assert [entry.is_end for entry in log.read(built.position)] == [True]


async def test_a_snapshot_of_an_earlier_run_has_no_later_messages(key: RunKey, alice_member: Member) -> None:
    talk = await Conversation.objects.aget(pk=key.thread)
    first = await Run.objects.aget(pk=key.pk)
    await sync_to_async(make_message)(talk, "user", "How long?", run=first)
    later = await sync_to_async(make_run)(talk, run_id="later", number=first.number + 1)
    await sync_to_async(make_message)(talk, "user", "And then?", run=later)
    writer = get_runs().log.writer(key.thread, lambda: None)
    writer.write(Entry(later.number, 1, '{"type":"RUN_STARTED"}'))
    await writer.flush()
    reader = run_entries(key=key, idle_seconds=0.01, member=alice_member)
    entries = [entry async for entry in reader if entry]
    assert [kind for _, kind in kinds(entries)] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [said["content"] for said in json.loads(entries[1].frame)["messages"]] == ["How long?"]


async def test_a_follower_of_a_thread_gets_its_stored_end(key: RunKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SILENCE_SECONDS", 0.01)
    await write_two_events(key)
    sent: list[str] = []
    ended = asyncio.Event()

    async def send(frame: str) -> None:
        sent.append(frame)
        if len(sent) == 2:
            ended.set()

    async def refresh() -> Any:
        raise AssertionError("nothing is missing but the end")

    async def settle() -> Position | None:
        end = await append_missing_end(key=key, log=get_runs().log)
        return end and end.position

    async def no_summary(*_: object) -> Any:
        raise AssertionError("nobody wants rendered text")

    log = await get_runs().log.open(key.thread)
    follower = Follower(
        thread=key.thread,
        log=log,
        send=send,
        refresh=refresh,
        settle=settle,
        notice=no_summary,
        details=no_summary,
        gate=asyncio.Semaphore(),
        bucket=Bucket(1, 1.0),
        renders=False,
        knows_outcomes=True,
    )
    task = asyncio.create_task(follower.follow(Position(key.number, 1)))
    await asyncio.wait_for(ended.wait(), 20)
    task.cancel()
    assert '"RUN_FINISHED"' in sent[-1]


async def test_an_end_in_the_log_is_not_appended_again(key: RunKey) -> None:
    await write_two_events(key)
    kept = get_runs().log
    assert await append_missing_end(key=key, log=kept) and await append_missing_end(key=key, log=kept)
    log = await kept.open(key.thread)
    assert [entry.seq for entry in log.read(Position(key.number, 0))] == [1, 2, 3]


async def write_unstored_events(key: RunKey, count: int = 7) -> None:
    """Append events up to `count` to the log of this process; the stored run has only three."""
    log = await get_runs().log.open(key.thread)
    log.append([Entry(key.number, seq, f'{{"seq":{seq}}}') for seq in range(1, count + 1)])


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize("seen", [3, 4, 7])
async def test_a_follower_who_has_seen_lost_events_gets_a_snapshot(
    key: RunKey, alice_member: Member, monkeypatch: pytest.MonkeyPatch, seen: int
) -> None:
    monkeypatch.setattr(following, "SILENCE_SECONDS", 0.01)
    await write_unstored_events(key, seen)
    sent: list[str] = []

    async def send(frame: str) -> None:
        sent.append(json.loads(frame)["type"])

    threads = FollowedThreads(alice_member, send=send, on_failure=lambda: sent.append("failed"))
    await threads.follow(uuid.UUID(key.thread), Position(key.number, seen), renders=False)
    async with asyncio.timeout(20):
        while "RUN_FINISHED" not in sent:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    next_run = Entry(key.number + 1, 1, '{"type":"RUN_STARTED"}')
    log = await get_runs().log.open(key.thread)
    log.append([next_run])
    await asyncio.sleep(0.1)
    await threads.close()
    assert sent == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED", "RUN_STARTED"]
    assert [entry.seq for entry in log.read(Position(key.number, 0))] == [1, 2, 3, 1]


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize("seen", [3, 4, 7])
async def test_a_reader_who_has_seen_lost_events_gets_a_snapshot(key: RunKey, alice_member: Member, seen: int) -> None:
    await write_unstored_events(key, seen)
    reader = run_entries(key=key, after=2, idle_seconds=0.01, member=alice_member)
    entries = [entry async for entry in reader if entry]
    assert [kind for _, kind in kinds(entries[seen - 2 :])] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    await write_unstored_events(key)
    (end,) = [entry async for entry in run_entries(key=key, after=7, idle_seconds=0.01) if entry]
    assert end.is_end and end.seq == 3


@pytest.mark.parametrize("away", [OperationalError, RedisConnectionError])
async def test_a_follower_gets_the_stored_end_after_an_outage(
    key: RunKey, alice_member: Member, monkeypatch: pytest.MonkeyPatch, away: type[Exception]
) -> None:
    monkeypatch.setattr(following, "SILENCE_SECONDS", 0.01)
    await write_two_events(key)
    sent: list[str] = []
    tries: list[RunKey] = []

    async def send(frame: str) -> None:
        sent.append(json.loads(frame).get("type"))

    async def unreachable_at_first(*, key: RunKey, log: EventLog) -> Entry | None:
        tries.append(key)
        if len(tries) < 3:
            raise away
        return await append_missing_end(key=key, log=log)

    monkeypatch.setattr("assistant.websocket.follower.append_missing_end", unreachable_at_first)
    threads = FollowedThreads(alice_member, send=send, on_failure=lambda: sent.append("failed"))
    await threads.follow(uuid.UUID(key.thread), Position(key.number, 2), renders=False)
    async with asyncio.timeout(20):
        while not sent:
            await asyncio.sleep(0.01)
    await threads.close()
    assert sent == ["RUN_FINISHED"]
    assert len(tries) == 3


@pytest.mark.usefixtures("unrecorded")
async def test_a_follower_at_the_end_gets_only_later_events(
    key: RunKey, alice_member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SILENCE_SECONDS", 0.01)
    sent: list[str] = []
    begun = asyncio.Event()

    async def send(frame: str) -> None:
        sent.append(json.loads(frame)["type"])
        begun.set()

    threads = FollowedThreads(alice_member, send=send, on_failure=lambda: sent.append("failed"))
    await threads.follow(uuid.UUID(key.thread), Position(key.number, 3), renders=False, is_at_end=True)
    await asyncio.sleep(0.1)  # ten times as long as SILENCE_SECONDS
    log = await get_runs().log.open(key.thread)
    log.append([Entry(key.number + 1, 1, '{"type":"RUN_STARTED"}')])
    async with asyncio.timeout(20):
        await begun.wait()
    await threads.close()
    assert sent == ["RUN_STARTED"]


@pytest.mark.usefixtures("unrecorded")
async def test_a_follower_gets_a_snapshot_if_the_first_events_are_gone(key: RunKey, alice_member: Member) -> None:
    log = await get_runs().log.open(key.thread)
    log.append([Entry(key.number, 2, '{"type":"TEXT_MESSAGE_END"}')])
    sent: list[str] = []
    ended = asyncio.Event()

    async def send(frame: str) -> None:
        sent.append(json.loads(frame)["type"])
        if sent[-1] == "RUN_FINISHED":
            ended.set()

    threads = FollowedThreads(alice_member, send=send, on_failure=ended.set)
    await threads.follow(uuid.UUID(key.thread), Position(key.number, 0), renders=False)
    async with asyncio.timeout(20):
        await ended.wait()
    await threads.close()
    assert sent == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]


@pytest.mark.usefixtures("unrecorded", "provider")
async def test_a_missing_end_is_appended_before_the_next_run(
    key: RunKey, alice_member: Member, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Next")
    await write_two_events(key)
    await Conversation.objects.filter(pk=key.thread).aupdate(run_count=key.number)
    asked = given(uuid.UUID(key.thread), "next")
    opened = await get_runs().open(member=alice_member, assistant_slug="support", given=asked)
    assert [entry async for entry in run_entries(key=opened.key) if entry][-1].is_end
    log = await get_runs().log.open(key.thread)
    assert [entry.position for entry in log.read(Position(key.number, 1))][:3] == [(1, 2), (1, 3), (2, 1)]
    assert [entry.is_end for entry in log.read(Position(key.number, 1))][:3] == [False, True, False]


async def test_a_stored_end_is_encoded_with_its_type_first(key: RunKey) -> None:
    error = RunError("The run was interrupted.", code="interrupted")
    stored = {"code": "interrupted", "type": "RUN_ERROR", "message": "The run was interrupted."}  # as in a jsonb
    await Run.objects.filter(pk=key.pk).aupdate(ending=stored)
    end = await append_missing_end(key=key, log=get_runs().log)
    assert end is not None and end.is_end
    assert end.frame == FrameEncoder(run_id=key.run_id, thread=key.thread).frame(error, 3)


def first_events(key: RunKey, count: int) -> list[Event]:
    """The first events of a run whose answer is "word2 word3 ..."."""
    said: list[Event] = [RunStarted(key.thread, key.run_id), TextMessageStart("m", "assistant")]
    return said + [TextMessageContent("m", f"word{n} ") for n in range(2, count)]


async def store_checkpoint(key: RunKey, count: int) -> None:
    kept = Transcript()
    for event in first_events(key, count):
        kept.apply(event)
    await Run.objects.filter(pk=key.pk).aupdate(partial=kept.to_state(), checkpoint_seq=count)


async def append_last(key: RunKey, seq: int) -> None:
    """Append the last of these events, as to a process that does not work on the run and may lack earlier ones."""
    frame = FrameEncoder(run_id=key.run_id, thread=key.thread).frame(first_events(key, seq)[-1], seq)
    (await get_runs().log.open(key.thread)).append([Entry(key.number, seq, frame)])


def shown(frames: list[str]) -> str:
    """The answer that a client shows after these frames."""
    text = ""
    for frame in map(json.loads, frames):
        if frame["type"] == "MESSAGES_SNAPSHOT":
            text = "".join(message["content"] for message in frame["messages"])
        text += frame.get("delta", "")
    return text


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize("seen", [0, 4])
async def test_a_reader_gets_lost_events_with_the_next_checkpoint(
    cast: Cast, alice_member: Member, monkeypatch: pytest.MonkeyPatch, seen: int
) -> None:
    monkeypatch.setattr(follow_run, "SNAPSHOT_RETRY_SECONDS", 0.01)
    key = key_of(await sync_to_async(running_run)(cast), "")
    await store_checkpoint(key, 3)
    await append_last(key, 7)
    frames: list[str] = []
    reader = run_entries(key=key, after=seen, member=alice_member)
    async with asyncio.timeout(20):
        while entry := await anext(reader):
            frames.append(entry.frame)
        assert shown(frames) == ("" if seen else "word2 ")
        await store_checkpoint(key, 7)
        await append_last(key, 8)
        while "word7" not in shown(frames):
            entry = await anext(reader)
            frames += [entry.frame] if entry else []
    await reader.aclose()
    assert shown(frames) == "word2 word3 word4 word5 word6 word7 "


@pytest.mark.usefixtures("unrecorded")
async def test_a_follower_gets_all_text_although_events_were_lost(
    cast: Cast, alice_member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SNAPSHOT_RETRY_SECONDS", 0.01)
    key = key_of(await sync_to_async(running_run)(cast), "")
    await store_checkpoint(key, 3)
    await append_last(key, 7)
    frames: list[str] = []

    async def send(frame: str) -> None:
        frames.append(frame)

    async def until(word: str) -> None:
        async with asyncio.timeout(20):
            while word not in shown(frames):
                await asyncio.sleep(0.01)

    threads = FollowedThreads(alice_member, send=send, on_failure=lambda: frames.append("failed"))
    await threads.follow(uuid.UUID(key.thread), None, renders=False)
    await until("word2")
    await store_checkpoint(key, 7)
    await until("word6")
    await append_last(key, 8)
    await until("word7")
    await threads.close()
    assert shown(frames) == "word2 word3 word4 word5 word6 word7 "
    assert [json.loads(frame)["type"] for frame in frames] == [
        *("RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START") * 2,
        "TEXT_MESSAGE_CONTENT",
    ]


@pytest.mark.usefixtures("unrecorded")
async def test_a_reader_who_saw_another_event_with_the_number_of_the_end_gets_a_snapshot(
    key: RunKey, alice_member: Member
) -> None:
    await write_unstored_events(key, 3)
    reader = run_entries(key=key, after=2, member=alice_member)
    read = await anext(reader)
    assert read and read.seq == 3 and not read.is_end
    log = await get_runs().log.open(key.thread)
    log.append([Entry(key.number, 9, "{}")])  # the events in between are missing here
    entries = [entry async for entry in reader if entry]
    assert [kind for _, kind in kinds(entries)] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]


async def test_a_client_that_does_not_read_its_snapshot_is_dropped_with_one_log_line(
    key: RunKey, alice_member: Member, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(following, "SNAPSHOT_TIMEOUT_SECONDS", 0.5)
    offered, dropped = asyncio.Event(), asyncio.Event()

    async def never_taken(frame: str) -> None:
        offered.set()
        await asyncio.Event().wait()

    threads = FollowedThreads(alice_member, send=never_taken, on_failure=dropped.set)
    await threads.follow(uuid.UUID(key.thread), None, renders=False)
    async with asyncio.timeout(20):
        await dropped.wait()
    await threads.close()
    (record,) = [record for record in caplog.records if record.name == "assistant.websocket.follower"]
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert (
        record.getMessage()
        == f"Disconnecting a client of tenant {alice_member.tenant_id}: the snapshot was not read in 0.5 s"
    )
    assert offered.is_set()


async def test_a_snapshot_that_takes_too_long_is_logged_as_an_error(
    key: RunKey, alice_member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SNAPSHOT_TIMEOUT_SECONDS", 0.05)

    async def never(*_: object) -> Any:
        await asyncio.Event().wait()

    follower = Follower(
        thread=key.thread,
        log=await get_runs().log.open(key.thread),
        send=never,
        refresh=never,
        settle=never,
        notice=never,
        details=never,
        gate=asyncio.Semaphore(),
        bucket=Bucket(1, 1.0),
        renders=False,
        knows_outcomes=True,
    )
    with pytest.raises(TimeoutError):
        await follower.follow(None)
