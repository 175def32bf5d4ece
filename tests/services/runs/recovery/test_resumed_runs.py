"""Runs of dead and stopped processes go on in another one, from their last complete step."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from assistant.core.toolcalls.protocols import Decision
from assistant.core.values import events
from assistant.core.values.events import Event, RunStarted
from assistant.models import Conversation, Membership, Message, Provider, Run, ToolCall, UsageEntry
from assistant.services.eventlog.frames import decode_event
from assistant.services.eventlog.log import Position
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.runs import manager
from assistant.services.runs.leases import DeadRun, take_over_dead_runs
from assistant.services.runs.manager import Runs
from assistant.services.runs.recovery import dead_runs
from assistant.services.runs.recovery.dead_runs import SKIPPED_NUMBERS, read_dead_run
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, make_message, make_run, switch_tool
from tests.fake_provider import FakeProvider
from tests.services.runs.recovery.dead_runs import TEXT, begin_call, call_of, leave_run
from tests.services.runs.test_opening import given
from tests.trace_parent import PARENT
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


class Heir:
    """A process that takes over what another one has left."""

    def __init__(self) -> None:
        self.runs = Runs()
        self.runs.log = self.log = MemoryLog()

    async def recover(self) -> Run:
        """Let all leases expire, recover, and return the run when it has ended or is left to another process."""
        await self.runs._recovery.start(time.monotonic())
        for task in list(self.runs._tasks.values()):
            await task.ended()
        return await Run.objects.alatest("number")

    def told(self, run: Run) -> list[Event]:
        """Return the events of a run that its clients can read; they are numbered without a gap."""
        found = self.log.thread(str(run.conversation_id)).read(Position(run.number, 0))
        assert [one.seq for one in found] == list(range(found[0].seq, found[-1].seq + 1))
        return [decode_event(one.frame) for one in found]


@pytest_asyncio.fixture
async def heir(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Heir]:
    @transaction.atomic  # otherwise a server of the test run might take it over first
    def expire_and_take_over(**choice: Any) -> list[DeadRun]:
        if choice["owner"] == process.runs.owner:
            Run.objects.exclude(lease_until=None).update(lease_until=timezone.now() - timedelta(minutes=1))
        return take_over_dead_runs(**choice)

    monkeypatch.setattr(dead_runs, "take_over_dead_runs", expire_and_take_over)
    process = Heir()
    yield process
    await process.runs.stop()


async def left(cast: Cast, heir: Heir, made: Sequence[Event] = (), *, is_lost: bool = False, **columns: Any) -> Run:
    return await sync_to_async(leave_run)(cast, made, log=None if is_lost else heir.log, **columns)


async def test_a_cut_answer_is_asked_for_again_and_stays_in_view(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    fake_provider.reply("Once upon a time.")
    await left(cast, heir, TEXT)
    run = await heir.recover()
    assert (run.status, run.partial, run.client_input) == (Run.Status.FINISHED, None, None)
    assert [(one["step"], one["handedOver"]) for one in run.resumes] == [(1, False)]
    told = heir.told(run)
    assert [type(one).__name__ for one in told[3:5]] == ["TextMessageEnd", "Custom"]
    assert told[4] == events.Custom("message.cut", {"messageId": "m1", "reason": "superseded"})
    assert sum(isinstance(one, RunStarted) for one in told) == 1
    rows = [row async for row in Message.objects.filter(role="assistant").order_by("position")]
    assert [(row.content, row.is_superseded) for row in rows] == [("Once upon", True), ("Once upon a time.", False)]
    assert rows[0].message_id == "m1" != rows[1].message_id
    assert [one["content"] for one in fake_provider.requests[0].messages if one["role"] != "system"] == ["Tell me"]
    # The request that was cut is counted as far as it is known.
    assert await UsageEntry.objects.filter(is_estimated=True).aexists()
    assert (await Conversation.objects.aget()).message_count == 3


async def test_a_run_that_goes_on_stays_in_its_callers_trace(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    await left(cast, heir, TEXT, client_input={"trace": json.dumps({"traceparent": PARENT["traceparent"]})})
    await heir.recover()
    assert fake_provider.requests[-1].headers["traceparent"] == PARENT["traceparent"]


async def test_numbers_go_on_after_the_log_is_lost(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    fake_provider.reply("Once upon a time.")
    await left(cast, heir, TEXT, is_lost=True)
    run = await heir.recover()
    assert run.status == Run.Status.FINISHED
    assert heir.told(run)[0] == events.TextMessageEnd("m1")
    assert run.checkpoint_seq > SKIPPED_NUMBERS


async def test_a_run_that_had_not_begun_begins(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    fake_provider.reply("Hello.")
    await left(cast, heir)
    run = await heir.recover()
    assert run.status == Run.Status.FINISHED
    assert isinstance(heir.told(run)[0], RunStarted)


async def test_stored_results_are_used_again(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.reply("It is 41.")
    run = await left(cast, heir, call_of("calculate", '{"expression": "1 + 1"}'))
    await sync_to_async(begin_call)(run, "calculate", ToolCall.Status.OK, result="41")
    run = await heir.recover()
    assert run.status == Run.Status.FINISHED
    assert fake_provider.requests[0].messages[-1]["content"] == "41"
    assert not await Message.objects.filter(is_superseded=True).aexists()


async def test_a_read_only_call_runs_again(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.reply("It is 2.")
    run = await left(cast, heir, call_of("calculate", '{"expression": "1 + 1"}'))
    await sync_to_async(begin_call)(run, "calculate")
    run = await heir.recover()
    assert run.status == Run.Status.FINISHED
    assert "2" in fake_provider.requests[0].messages[-1]["content"]
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.OK


async def test_a_person_is_asked_before_a_call_with_an_effect_runs_again(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "set_alarm")
    run = await left(cast, heir, call_of("set_alarm", '{"at": "2090-01-01T03:00"}'))
    await sync_to_async(begin_call)(run, "set_alarm")
    run = await heir.recover()
    assert run.status == Run.Status.WAITING and not fake_provider.requests
    asked = run.ending["outcome"]["interrupts"]  # type: ignore[index]
    assert [one["toolCallId"] for one in asked] == ["c1"]
    assert "may have taken effect already" in asked[0]["message"]
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.AWAITING_APPROVAL


async def test_a_model_that_repeats_a_doubtful_call_is_held_up(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "set_alarm")
    fake_provider.call("set_alarm", {"at": "2090-01-01T03:00"})
    # The log was lost with the events of the call, which is known by the audit alone.
    run = await left(cast, heir, TEXT, is_lost=True)
    await sync_to_async(begin_call)(run, "set_alarm", arguments='{"at": "2090-01-01T03:00"}')
    run = await heir.recover()
    assert run.status == Run.Status.WAITING
    assert "whether the tool took effect is not known" in fake_provider.requests[0].messages[-1]["content"]
    assert await ToolCall.objects.filter(status=ToolCall.Status.OK).acount() == 0


async def test_an_approved_call_that_had_not_begun_runs_as_it_was_approved(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "set_alarm", policy="ask")
    fake_provider.reply("It is set.")
    decision = asdict(Decision(True, edited_arguments={"at": "2090-01-01T05:00"}))
    run = await left(cast, heir, client_input={"decisions": json.dumps({"c1": decision})}, number=2)
    await sync_to_async(ask_before)(run)
    run = await heir.recover()
    assert run.status == Run.Status.FINISHED
    call = await ToolCall.objects.aget()
    assert call.status == ToolCall.Status.OK and "05:00" in call.arguments


def ask_before(run: Run) -> None:
    """Let the run be the continuation of one whose call was approved."""
    Message.objects.filter(run=run).delete()
    before = make_run(run.conversation, status=Run.Status.WAITING, number=1)
    make_message(run.conversation, "user", "Wake me", run=before, position=0)
    call = {"id": "c1", "name": "set_alarm", "arguments": '{"at": "2090-01-01T03:00"}'}
    make_message(run.conversation, "assistant", "", run=before, tool_calls=[call], position=1)
    Conversation.objects.update(message_count=2, run_count=1)
    begin_call(before, "set_alarm", ToolCall.Status.APPROVED)


@pytest.mark.parametrize(("inner", "is_repeated"), [("calculate", True), ("set_alarm", False)])
async def test_another_assistant_is_asked_again_if_it_has_changed_nothing(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir, inner: str, is_repeated: bool
) -> None:
    expert = await sync_to_async(make_assistant)(cast.acme, "expert")
    await sync_to_async(let_ask)(cast.support, expert)
    fake_provider.reply("Noon.")
    fake_provider.reply("The expert says noon.")
    run = await left(cast, heir, call_of("ask_expert", '{"task": "What time is it?"}'))
    await sync_to_async(begin_call)(run, "ask_expert")
    await sync_to_async(begin_call)(run, inner, ToolCall.Status.OK, call_id="c2", agent="ask_expert")
    run = await heir.recover()
    assert run.status == (Run.Status.FINISHED if is_repeated else Run.Status.WAITING)
    assert len(fake_provider.requests) == (2 if is_repeated else 0)


async def test_the_engine_can_resume_a_run_that_it_has_claimed(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    fake_provider.reply("Once upon a time.")
    await left(cast, heir, TEXT)
    (dead,) = await sync_to_async(dead_runs.take_over_dead_runs)(owner=heir.runs.owner)
    assert await heir.runs._recovery.resume(await read_dead_run(dead, heir.runs.log))
    await heir.runs.ended(pk=dead.key.pk)
    assert (await Run.objects.aget()).status == Run.Status.FINISHED


async def test_a_typed_answer_is_begun_again(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir
) -> None:
    fake_provider.reply('{"city": "Oslo"}')
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    half = [TEXT[0], events.TextMessageContent("m1", '{"city": "Os')]
    await left(cast, heir, half, client_input={"answer_schema": json.dumps(schema)})
    run = await heir.recover()
    assert (run.status, run.ending["result"]) == (Run.Status.FINISHED, {"city": "Oslo"})  # type: ignore[index]


REFUSED: dict[str, dict[str, Any]] = {
    "switched off": {},
    "cancelled": {"cancel_requested_at": timezone.now()},
    "too often": {"resumes": [{"at": "", "step": 1, "handedOver": False}] * 3},
    "a test": {"is_test": True},
    "unreadable": {"client_input": {"context": "no JSON"}},
    "waited in the shared queue": {"status": Run.Status.QUEUED, "is_shared": True},
    **{why: {} for why in ("suspended", "no member", "stateless")},
}


@pytest.mark.parametrize("why", REFUSED)
async def test_runs_that_may_not_go_on_end_as_interrupted(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, heir: Heir, settings: Settings, why: str
) -> None:
    run = await left(cast, heir, TEXT, **REFUSED[why])
    if why == "switched off":
        settings.ASSISTANT_RUN_RESUMES = 0
    elif why == "waited in the shared queue":
        settings.ASSISTANT_ROLE = "worker"
        settings.ASSISTANT_RUN_QUEUE_SECONDS = 0
    elif why == "suspended":
        cast.acme.is_active = False
        await cast.acme.asave()
    elif why == "no member":
        await Membership.objects.filter(user_id=cast.alice.pk).adelete()
    elif why == "stateless":
        await Conversation.objects.aupdate(is_stateless=True)
    run = await heir.recover()
    assert (run.status, run.error_code) == (Run.Status.INTERRUPTED, "interrupted")
    assert not fake_provider.requests
    assert (await Message.objects.aget(role="assistant")).is_superseded is False


async def test_a_run_is_left_to_others_by_a_process_without_room(
    cast: Cast, provider: Provider, heir: Heir, settings: Settings, alice_member: Member
) -> None:
    settings.ASSISTANT_MAX_RUNS = 1
    heir.runs.queue.enter(alice_member)
    await left(cast, heir, TEXT)
    run = await heir.recover()
    assert (run.status, run.lease_owner, run.resumes) == (Run.Status.RUNNING, "", [])


@pytest.mark.usefixtures("provider")
async def test_a_process_that_stops_hands_its_runs_over(
    alice_member: Member, fake_provider: FakeProvider, heir: Heir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "DRAIN_SECONDS", 0.0)
    stopping = Runs()
    stopping.log = heir.log
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate])
    fake_provider.reply("Once upon a time.")
    asked = given(uuid.uuid4())
    await stopping.open(member=alice_member, assistant_slug="support", given=asked)
    log = heir.log.thread(str(asked.thread_id))
    await until(lambda: log.last is not None and log.last.seq > 2)
    monkeypatch.setattr(heir.log, "close", stopping.connection_limiter.close)
    await stopping.stop()
    # A server of the test run may take it over too.
    await heir.recover()
    run = await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).first())
    assert [one["handedOver"] for one in run.resumes] == [True]
    cut = await Message.objects.aget(is_superseded=True)
    assert (cut.role, cut.content) == ("assistant", "Once upon")
