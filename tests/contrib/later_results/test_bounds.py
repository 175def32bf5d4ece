"""What keeps a run from going on: outages, failures, a withdrawn key, what is left over, and going on without end."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services import arrivals, continuation, pending_calls
from assistant.contrib.later_results.services.arrivals import ArrivalRefused
from assistant.contrib.later_results.services.pending_calls import hash_of
from assistant.models import ApiKey, Conversation, Job, Message, Run, Tenant, TenantLimits, ToolCall
from assistant.services.addresses import api_url
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.jobs.jobs import MAX_ATTEMPTS, LongWork
from assistant.services.runs import manager
from assistant.services.runs.input.forwarded_props import ForwardedProps
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.manager import Runs, get_runs
from assistant.services.tenancy.members import Member
from assistant.services.token_bucket import MAX_BUCKETS, Buckets
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Pending, Question, Registry, ToolContext, tool
from assistant.toolkit.definition.questions import NeedsAnswer
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.later_results.test_elsewhere import waiting
from tests.contrib.later_results.test_waiting_runs import QUESTION, results, send, tools, wait_for_bank
from tests.contrib.later_results.waiting import RESULT, answer, ask, ask_bank, expire, take_over, tokens, work
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.services.jobs.due_jobs import do_due_jobs

__all__ = ["tools"]

pytestmark = pytest.mark.django_db(transaction=True)


async def do_once() -> None:
    """Do what is due once, as one process would."""
    long: list[LongWork] = []
    await sync_to_async(do_due_jobs)(start=long.append)
    for one in long:
        await one()


async def last_job() -> Job:
    return await Job.objects.filter(name="pending.continue").alatest("pk")


async def test_it_goes_on_after_an_outage(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    with monkeypatch.context() as outage:
        outage.setattr(type(get_runs().log), "is_writable", False)
        await do_once()
    assert (await last_job()).state == "waiting" and await Run.objects.acount() == 1
    await take_over()
    await work()
    assert results(fake_provider) == [RESULT] and await Run.objects.acount() == 2
    assert [job.state async for job in Job.objects.filter(name="pending.continue")] == ["done"]


async def test_what_fails_again_and_again_is_given_up(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*args: Any, **more: Any) -> Any:
        raise LookupError("a defect")

    await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    with monkeypatch.context() as defect:
        defect.setattr(Runs, "open", fails)
        # The housekeeping of this process may take it too, even while it is tried here: then there is one attempt more.
        async with asyncio.timeout(60):
            while (await last_job()).state == "waiting":
                await take_over()
                await do_once()
    job = await last_job()
    assert job.state == "failed" and job.attempts in (MAX_ATTEMPTS, MAX_ATTEMPTS + 1)
    assert job.problem and "defect" not in job.problem


async def test_a_call_that_was_lost_on_the_way_keeps_nobody_waiting(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    # Its process died while it ran, and its result was taken from the audit.
    lost = await ToolCall.objects.acreate(tenant=cast.acme, run=run, call_id="lost", name="ask_bank", status="error")
    await PendingCall.objects.acreate(tenant=cast.acme, call=lost, run=run, hashed="h")
    await send(tokens[0])
    await work()
    assert results(fake_provider) == [RESULT]


@pytest.mark.parametrize("is_revoked", [True, False])
async def test_a_run_of_a_key_that_was_revoked_does_not_go_on(
    cast: Cast, fake_provider: FakeProvider, is_revoked: bool
) -> None:
    await sync_to_async(key_of)(cast.acme, cast.alice)
    run = await wait_for_bank(cast, fake_provider)
    key = await ApiKey.objects.aget()
    await Run.objects.filter(pk=run.pk).aupdate(api_key=key)
    await ApiKey.objects.aupdate(revoked_at=timezone.now() if is_revoked else None)
    await send(tokens[0])
    await work()
    assert await Run.objects.acount() == (1 if is_revoked else 2)
    assert (await last_job()).state == ("failed" if is_revoked else "done")


@pytest.mark.parametrize(
    "narrowed",
    [
        ForwardedProps(allowed_tools=frozenset({"ask_bank"})),
        ForwardedProps(output_schema={"type": "object", "properties": {}}),
    ],
)
async def test_where_the_caller_narrows_the_run_nothing_is_waited_for(
    cast: Cast, fake_provider: FakeProvider, narrowed: ForwardedProps
) -> None:
    fake_provider.call("ask_bank", QUESTION)
    assert (await ask(cast, options=narrowed)).status != Run.Status.WAITING
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.REFUSED and not tokens


async def test_a_conversation_does_not_go_on_by_itself_without_end(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuation, "MAX_IN_A_ROW", 2)
    run = await wait_for_bank(cast, fake_provider)
    for number in range(3):
        await send(tokens[number])
        fake_provider.call("ask_bank", QUESTION)
        await work()
    job = await last_job()
    assert (job.state, job.problem) == ("failed", continuation.TOO_OFTEN) and await Run.objects.acount() == 3
    await ask(cast, "Go on", thread=run.conversation_id)
    await send(tokens[3])
    await work()
    assert await Run.objects.acount() == 5


async def test_a_result_for_a_run_that_has_failed_leaves_no_open_call(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    await Run.objects.filter(pk=run.pk).aupdate(status=Run.Status.FAILED)
    await work()
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.CANCELLED


async def test_looking_again_for_weeks_leaves_one_row(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await Tenant.objects.filter(slug="acme").aupdate(is_active=False)
    for _ in range(3):
        await expire()
        await do_once()
    assert [job.state async for job in Job.objects.filter(name="pending.expire")] == ["waiting"]


async def test_a_tools_own_marks_stay_although_what_comes_is_trusted(cast: Cast, fake_provider: FakeProvider) -> None:
    @tool(name="ask_colleague", title="Colleague", waits=True, read_only=True, open_world=True)
    def of_the_world(context: ToolContext) -> Pending:
        """Ask somebody whose words are from outside."""
        tokens.append(context.callback.token)
        context.mark_untrusted("a letter")
        return Pending(timedelta(days=3), trusted=True)

    with catalogue.using(Registry([of_the_world])):
        fake_provider.call("ask_colleague", {})
        await ask(cast)
        assert set((await ToolCall.objects.aget()).sources) == {"a letter", "Colleague"}
        await send(tokens[0])
        await work()
    call = await ToolCall.objects.aget()
    assert call.status == "ok" and set(call.sources) == {"a letter", "Colleague"}


@pytest.mark.parametrize("ending", ["", "/", "/more/", "/more"])
def test_no_address_with_a_token_is_logged(cast: Cast, caplog: pytest.LogCaptureFixture, ending: str) -> None:
    row, token = waiting(cast), "wait_0123456789"
    PendingCall.objects.filter(pk=row.pk).update(hashed=hash_of(token))
    path = f"/api/v1/tenants/acme/pending/{token}{ending}"
    answer = Client().post(path, {"result": 1}, content_type="application/json")
    assert answer.status_code == (404 if "more" in ending else 202)
    assert token not in caplog.text


async def test_a_question_that_is_asked_anew_goes_on_without_what_has_come(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise this process may go on with what has come before the question is asked anew.
    monkeypatch.setattr(manager, "does_background_work", lambda: False)
    run = await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    asked = await Message.objects.aget(role="user")
    await ask(cast, "Something else", thread=run.conversation_id, options=ForwardedProps(replaces=asked.message_id))
    await work()
    assert await Run.objects.acount() == 2
    conversation = await Conversation.objects.aget()
    shown = await sync_to_async(recent_messages)(conversation=conversation)
    assert [message.content for message in shown if message.role == "user"] == ["Something else"]


async def test_addresses_are_first_looked_up_off_the_event_loop(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[bool] = []

    def look_up(*args: Any, **more: Any) -> str:
        where.append(threading.current_thread() is loops)
        return api_url(*args, **more)

    loops = threading.current_thread()
    monkeypatch.setattr(pending_calls, "api_url", look_up)
    await wait_for_bank(cast, fake_provider)
    assert where == [False, True]


def test_a_flood_of_tokens_in_many_threads_breaks_nothing() -> None:
    def flood(seed: int) -> int:
        number = random.Random(seed)
        return sum(1 for _ in range(3_000) if arrivals._take(buckets, str(number.randrange(MAX_BUCKETS + 2_000))))

    interval, buckets = sys.getswitchinterval(), Buckets(10, 1.0)
    for number in range(MAX_BUCKETS):
        buckets.get(str(number))
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(flood, range(4)))
    finally:
        sys.setswitchinterval(interval)


async def test_a_call_that_was_approved_first_goes_on_too(cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_bank", "ask")
    fake_provider.call("ask_bank", QUESTION)
    run = await ask(cast)
    call = await ToolCall.objects.aget()
    # The run that the approval begins waits as well, and has no message of its own.
    assert (await answer(cast, run, Resume(call.call_id, approved=True))).status == Run.Status.WAITING
    await send(tokens[0])
    await work()
    assert results(fake_provider) == [RESULT] and await Run.objects.acount() == 3


async def test_a_tool_that_asks_first_and_then_waits(cast: Cast, fake_provider: FakeProvider) -> None:
    seat = Question("Which?", {"type": "object", "properties": {"seat": {"type": "string"}}}, "seat")

    @tool(name="ask_colleague", waits=True, read_only=True)
    def asks_first(context: ToolContext) -> Pending:
        """Ask the person, and then a colleague."""
        tokens.append(context.callback.token)
        if not context.answers:
            raise NeedsAnswer(seat)
        return Pending(timedelta(days=3))

    with catalogue.using(Registry([asks_first])):
        fake_provider.call("ask_colleague", {})
        run = await ask(cast)
        assert not await PendingCall.objects.aexists()
        call = await ToolCall.objects.aget()
        said = Resume(call.call_id, approved=True, response='{"seat": "Aisle"}', is_answer=True)
        assert (await answer(cast, run, said)).status == Run.Status.WAITING
        with pytest.raises(ArrivalRefused):
            await send(tokens[0])  # of the first time, which waits for nothing
        await send(tokens[1])
        await work()
    assert results(fake_provider) == [RESULT]


@pytest.mark.parametrize("answered_first", [0, 1, 2])
async def test_a_question_while_a_tool_runs_and_a_result_in_the_same_step(
    cast: Cast, fake_provider: FakeProvider, answered_first: int
) -> None:
    form = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}

    @tool(name="look_up", read_only=True)
    def asks_twice(context: ToolContext) -> str:
        """Ask the person twice."""
        assert context.answers is not None
        for key in ("one", "two"):
            if key not in context.answers:
                raise NeedsAnswer(Question(key, form, key))
        return f"{context.answers['one']['value']}, {context.answers['two']['value']}"

    with catalogue.using(Registry([ask_bank, asks_twice])):
        fake_provider.calls([("ask_bank", QUESTION), ("look_up", {})])
        run = await ask(cast)
        call = await ToolCall.objects.aget(name="look_up")
        for number in range(3):
            if number == answered_first:
                await send(tokens[0])
                await do_once()
            if number < 2:
                said = f'{{"value": "{number}"}}'
                given = Resume(call.call_id, approved=True, response=said, is_answer=True, question=number * 2)
                await answer(cast, run, given)
        await work()
    assert sorted(results(fake_provider)) == ["0, 1", RESULT]
    assert len(tokens) == 1 and len(fake_provider.requests) == 2
    assert (await ToolCall.objects.aget(name="look_up")).questions == ""


async def test_a_member_stops_a_run_that_is_kept_from_going_on(
    cast: Cast, fake_provider: FakeProvider, alice_member: Member
) -> None:
    run = await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    await TenantLimits.objects.acreate(tenant=cast.acme, tenant_tokens_per_month=1)
    await do_once()
    assert await get_runs().cancel(member=alice_member, run_id=run.run_id)
    assert not await get_runs().cancel(member=alice_member, run_id=run.run_id)
    await TenantLimits.objects.all().adelete()
    await take_over()
    await work()
    assert await Run.objects.acount() == 1 and (await Run.objects.aget()).status == Run.Status.CANCELLED
    # The next message takes along what has come.
    await ask(cast, "So?", thread=run.conversation_id)
    assert results(fake_provider) == [RESULT]
