"""A run ends with calls whose results come later, and goes on by itself, once, when they have come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from assistant.contrib.later_results.keeping import KeptResults
from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services import arrivals
from assistant.contrib.later_results.services.arrivals import ArrivalRefused, deliver
from assistant.models import (
    Approval,
    Conversation,
    Job,
    Membership,
    Message,
    Provider,
    Run,
    Tenant,
    ToolCall,
)
from assistant.services.errors import Refused
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.manager import get_runs
from assistant.toolkit.carried_context import continue_trace
from tests.base import Cast
from tests.contrib.later_results.waiting import RESULT, answer, ask, expire, take_over, tokens, tools_of_acme, work
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.trace_parent import PARENT

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = {"question": "May we?"}


@pytest.fixture(autouse=True)
async def tools(cast: Cast, provider: Provider) -> AsyncIterator[None]:
    manager = tools_of_acme(cast)
    await sync_to_async(manager.__enter__)()
    yield
    await get_runs().stop()
    manager.__exit__(None, None, None)


async def send(token: str, value: Any = RESULT, *, tenant: str = "acme", is_error: bool = False) -> None:
    await sync_to_async(deliver)(tenant_slug=tenant, token=token, value=value, is_error=is_error)


def results(fake_provider: FakeProvider) -> list[str]:
    """Return the results that the model was sent last, without the marks around text from outside."""
    told = [one["content"] for one in fake_provider.requests[-1].json["messages"] if one["role"] == "tool"]
    return [text.split("\n", 1)[1].rsplit("\n", 1)[0] if "text from outside" in text else text for text in told]


def interrupts(run: Run) -> list[dict[str, Any]]:
    assert run.ending is not None
    return list(run.ending["outcome"].get("interrupts", ()))


async def wait_for_bank(cast: Cast, fake_provider: FakeProvider) -> Run:
    fake_provider.call("ask_bank", QUESTION)
    run = await ask(cast)
    assert run.status == Run.Status.WAITING
    return run


async def test_a_run_ends_and_goes_on_once_with_what_has_come(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    (interrupt,) = interrupts(run)
    assert (interrupt["reason"], interrupt["metadata"]) == (
        "tool_pending",
        {"title": "Ask the bank", "note": "the bank"},
    )
    assert interrupt["message"] == "“Ask the bank” waits for the bank." and "expiresAt" in interrupt
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.PENDING
    await work()
    assert await Run.objects.acount() == 1
    await send(tokens[0])
    fake_provider.reply("They agree.")
    await work()
    assert results(fake_provider) == [RESULT]
    later = await Run.objects.aget(number=2)
    assert (later.status, later.user_id, later.run_id) == ("finished", cast.alice.pk, f"pending-{run.pk}")
    call = await ToolCall.objects.aget()
    # What comes from outside marks all that follows; the tool has run once.
    assert (call.status, call.result, call.sources) == ("ok", RESULT, ["Ask the bank"])
    await work()
    assert len(tokens) == 1 and await Run.objects.acount() == 2
    said = [one.content async for one in Message.objects.filter(role="assistant").order_by("position")]
    assert said[-1] == "They agree." and not await Job.objects.filter(state="waiting").aexists()


async def test_what_goes_on_later_stays_in_its_callers_trace(cast: Cast, fake_provider: FakeProvider) -> None:
    async def begin() -> None:
        continue_trace(PARENT)
        await wait_for_bank(cast, fake_provider)

    await asyncio.create_task(begin())  # a task of its own, as a request has: nothing of it is left here
    await send(tokens[0])
    await work()
    assert results(fake_provider) == [RESULT]
    assert fake_provider.requests[-1].headers["traceparent"] == PARENT["traceparent"]


async def test_only_the_hash_of_a_token_is_stored(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    row = await PendingCall.objects.aget()
    assert tokens[0].startswith("wait_") and len(tokens[0]) > 40
    assert tokens[0] not in json.dumps({**row.__dict__, "_state": None}, default=str)


async def test_of_two_results_at_once_one_counts_and_two_processes_go_on_once(
    cast: Cast, fake_provider: FakeProvider
) -> None:
    await wait_for_bank(cast, fake_provider)
    sent = await asyncio.gather(
        *(asyncio.to_thread(_deliver, tokens[0], text) for text in ("first", "second")), return_exceptions=True
    )
    refused = [one for one in sent if isinstance(one, ArrivalRefused)]
    assert [one.reason for one in refused] == ["already_answered"] and sent.count(None) == 1
    fake_provider.reply("Done.")
    await work(at_once=2)
    assert await Run.objects.acount() == 2 and len(fake_provider.requests) == 2
    assert len(results(fake_provider)) == 1


def _deliver(token: str, value: str) -> None:
    from django.db import connections

    try:
        deliver(tenant_slug="acme", token=token, value=value, is_error=False)
    finally:
        connections.close_all()


async def test_a_process_that_dies_before_it_opens_the_run_is_followed_by_another(
    cast: Cast, fake_provider: FakeProvider
) -> None:
    from tests.services.jobs.due_jobs import do_due_jobs

    await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    dead: list[Any] = []
    await sync_to_async(do_due_jobs)(start=dead.append)
    await take_over()
    fake_provider.reply("They agree.")
    await work()
    await dead[0]()  # it was not dead
    assert await Run.objects.acount() == 2 and len(fake_provider.requests) == 2


async def test_the_end_of_the_time_is_a_failure_that_the_model_reads(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await expire()
    fake_provider.reply("They did not answer.")
    await work()
    (told,) = results(fake_provider)
    assert told.startswith("Nothing came until 20") and (await ToolCall.objects.aget()).status == "timeout"
    with pytest.raises(ArrivalRefused) as refused:
        await send(tokens[0])
    await work()
    assert refused.value.reason == "wait_over" and await Run.objects.acount() == 2


async def test_an_error_from_outside_is_one_for_the_model(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await send(tokens[0], "The bank is closed.", is_error=True)
    await work()
    assert results(fake_provider) == ["The bank is closed."]
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.ERROR


async def test_what_comes_is_marked_unless_the_tool_trusts_it(cast: Cast, fake_provider: FakeProvider) -> None:
    for name, arguments, status in (("ask_bank", QUESTION, "waiting"), ("ask_colleague", {}, "finished")):
        fake_provider.call(name, arguments)
        run = await ask(cast)
        await send(tokens[-1])
        # In a run that has read text from outside, a tool that is not read-only asks first.
        fake_provider.call("send_letter", {"to": "eve@evil.example"})
        await work()
        assert (await Run.objects.aget(conversation_id=run.conversation_id, number=2)).status == status


async def test_other_calls_of_the_step_are_kept_and_all_results_are_waited_for(
    cast: Cast, fake_provider: FakeProvider
) -> None:
    fake_provider.calls([("ask_bank", QUESTION), ("send_letter", {"to": "Bob"}), ("ask_colleague", {})])
    run = await ask(cast)
    assert len(interrupts(run)) == 2
    of_bank = (await PendingCall.objects.select_related("call").aget(note="the bank")).call
    first, second = tokens if of_bank.call_id == interrupts(run)[0]["id"] else reversed(tokens)
    await send(first, "one")
    await work()
    assert await Run.objects.acount() == 1
    await send(second, "two")
    await work()
    assert sorted(results(fake_provider)) == ["one", "sent to Bob", "two"]
    assert await Run.objects.acount() == 2 and await ToolCall.objects.filter(status="ok").acount() == 3


@pytest.mark.parametrize("first", ["result", "approval"])
async def test_an_approval_in_the_same_step_is_waited_for_too(
    cast: Cast, fake_provider: FakeProvider, first: str
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "send_letter", "ask")
    fake_provider.calls([("ask_bank", QUESTION), ("send_letter", {"to": "Bob"})])
    run = await ask(cast)
    assert {one["reason"] for one in interrupts(run)} == {"tool_pending", "tool_call"}
    call = await Approval.objects.aget()
    if first == "result":
        await send(tokens[0])
        await sync_to_async(_do_jobs_once)()
        assert await Run.objects.acount() == 1
        await answer(cast, run, Resume(call.call_id, approved=True))
    else:
        again = await answer(cast, run, Resume(call.call_id, approved=True))
        assert again.status == Run.Status.WAITING and [one["reason"] for one in interrupts(again)] == ["tool_pending"]
        assert len(fake_provider.requests) == 1
        await send(tokens[0])
        await work()
    assert sorted(results(fake_provider)) == sorted([RESULT, "sent to Bob"])
    assert len(tokens) == 1 and not await PendingCall.objects.filter(state="waiting").aexists()
    await work()
    assert len(fake_provider.requests) == 2


def _do_jobs_once() -> None:
    from tests.services.jobs.due_jobs import do_due_jobs

    do_due_jobs(start=lambda work: pytest.fail("nothing can go on yet"))


async def test_a_message_goes_on_without_what_is_waited_for(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    with pytest.raises(Refused, match="resume needs an entry"):
        await ask(cast, "Never mind", thread=run.conversation_id, must_answer=True)
    assert (await PendingCall.objects.aget()).state == "waiting"
    call = await ToolCall.objects.aget()
    given_up = (Resume(call.call_id, approved=False, is_abandoned=True),)
    await ask(cast, "Never mind", thread=run.conversation_id, must_answer=True, resume=given_up)
    (told,) = results(fake_provider)
    assert told.startswith("Nobody waits for the result") and (await PendingCall.objects.aget()).state == "cancelled"
    with pytest.raises(ArrivalRefused) as refused:
        await send(tokens[0])
    await work()
    assert refused.value.reason == "wait_over" and await Run.objects.acount() == 2


async def test_a_message_takes_along_what_has_come(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    await ask(cast, "And?", thread=run.conversation_id, must_answer=True)
    assert results(fake_provider) == [RESULT]
    await work()
    assert await Run.objects.acount() == 2


async def test_an_entry_that_is_not_given_up_changes_nothing(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    call = await ToolCall.objects.aget()
    with pytest.raises(Refused, match="nothing new"):
        await answer(cast, run, Resume(call.call_id, approved=True, response="I am the bank"))
    assert (await PendingCall.objects.aget()).state == "waiting"


async def test_a_member_stops_waiting(cast: Cast, alice_member: Any, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider)
    assert await get_runs().cancel(member=alice_member, run_id=run.run_id)
    await run.arefresh_from_db()
    assert (run.status, run.ending["outcome"]) == ("cancelled", {"type": "cancelled"})  # type: ignore[index]
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.CANCELLED
    with pytest.raises(ArrivalRefused):
        await send(tokens[0])
    await work()
    assert not await get_runs().cancel(member=alice_member, run_id=run.run_id) and await Run.objects.acount() == 1
    await ask(cast, "So?", thread=run.conversation_id, must_answer=True)
    assert results(fake_provider)[0].startswith("Nobody waits")


async def test_nobody_else_stops_it(cast: Cast, fake_provider: FakeProvider) -> None:
    from assistant.services.tenancy.members import find_member

    run = await wait_for_bank(cast, fake_provider)
    for user, tenant in ((cast.mallory, "globex"), (cast.amy, "acme")):
        other = await sync_to_async(find_member)(user_id=user.pk, tenant_slug=tenant)
        assert other is not None and not await get_runs().cancel(member=other, run_id=run.run_id)
    assert (await PendingCall.objects.aget()).state == "waiting"


async def test_a_token_is_of_its_tenant(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    for tenant, token in (("globex", tokens[0]), ("nobody", tokens[0]), ("acme", f"{tokens[0]}x"), ("acme", "x")):
        with pytest.raises(ArrivalRefused) as refused:
            await send(token, tenant=tenant)
        assert refused.value.reason == "not_found"
    await Tenant.objects.filter(slug="acme").aupdate(is_active=False)
    with pytest.raises(ArrivalRefused):
        await send(tokens[0])
    assert (await PendingCall.objects.aget()).state == "waiting"


async def test_a_suspended_tenant_goes_on_when_it_is_not_any_more(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await Tenant.objects.filter(slug="acme").aupdate(is_active=False)
    await expire()
    await work()
    assert (await PendingCall.objects.aget()).state == "waiting" and await Run.objects.acount() == 1
    await Tenant.objects.filter(slug="acme").aupdate(is_active=True)
    await expire()
    await work()
    assert await Run.objects.acount() == 2


async def test_who_has_lost_access_is_not_gone_on_for(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await Membership.objects.filter(user=cast.alice).adelete()
    await send(tokens[0])
    await sync_to_async(_do_jobs_once)()
    job = await Job.objects.aget(name="pending.continue")
    assert (job.state, job.problem) == ("failed", "Its member has no access any more.")
    assert await Run.objects.acount() == 1


async def test_a_quota_that_is_used_up_is_waited_for(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assistant.models import TenantLimits
    from tests.services.jobs.due_jobs import do_due_jobs

    await wait_for_bank(cast, fake_provider)
    await send(tokens[0])
    await TenantLimits.objects.acreate(tenant=cast.acme, tenant_tokens_per_month=1)
    long: list[Any] = []
    await sync_to_async(do_due_jobs)(start=long.append)
    await long[0]()
    job = await Job.objects.aget(name="pending.continue", state="waiting")
    assert job.due_at > timezone.now() + timedelta(minutes=5) and await Run.objects.acount() == 1
    await TenantLimits.objects.all().adelete()
    await take_over()
    await work()
    assert await Run.objects.acount() == 2


async def test_a_deleted_conversation_ends_it(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await Conversation.objects.all().adelete()
    with pytest.raises(ArrivalRefused) as refused:
        await send(tokens[0])
    assert refused.value.reason == "not_found"
    await expire()
    await work()
    assert not await PendingCall.objects.aexists() and not await Job.objects.filter(state="failed").aexists()


async def test_a_result_before_the_tool_has_returned_is_kept(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assistant.services.toolpolicy import catalogue
    from assistant.toolkit import Pending, Registry, ToolContext, tool

    @tool(name="ask_bank", waits=True, read_only=True)
    async def at_once(question: str, context: ToolContext) -> Pending:
        """Ask a bank that answers at once."""
        await send(context.callback.token, "At once.")
        return Pending(timedelta(days=3))

    with catalogue.using(Registry([at_once])):
        await wait_for_bank(cast, fake_provider)
        await work()
    assert results(fake_provider) == ["At once."] and await Run.objects.acount() == 2


async def test_a_tool_that_does_not_wait_after_all_leaves_nothing(cast: Cast, fake_provider: FakeProvider) -> None:
    fake_provider.call("look_up", {})
    assert (await ask(cast)).status == Run.Status.FINISHED
    assert results(fake_provider) == ["known"] and not await PendingCall.objects.aexists()
    with pytest.raises(ArrivalRefused):
        await send(tokens[0])


async def test_a_tool_that_is_not_declared_fails(cast: Cast, fake_provider: FakeProvider) -> None:
    fake_provider.call("forgets_to_say", {})
    await ask(cast)
    assert results(fake_provider)[0].startswith("The tool failed")


async def test_where_nothing_can_go_on_it_is_not_offered_and_refused(
    cast: Cast, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KeptResults, "extensions", lambda self, **key: iter(()))
    fake_provider.call("ask_bank", QUESTION)
    assert (await ask(cast)).status == Run.Status.FINISHED
    offered = {one["function"]["name"] for one in fake_provider.requests[0].json["tools"]}
    assert "ask_bank" not in offered and "send_letter" in offered and not tokens
    assert "nothing can be waited for here" in results(fake_provider)[0]


async def test_a_scheduled_question_waits_for_nothing(cast: Cast, fake_provider: FakeProvider) -> None:
    fake_provider.call("ask_bank", QUESTION)
    await ask(cast, is_unattended=True)
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.REFUSED


async def test_too_many_requests_are_refused(cast: Cast, fake_provider: FakeProvider) -> None:
    for _ in range(arrivals.TOKEN_BURST):
        with pytest.raises(ArrivalRefused, match="no such thing"):
            await send("wait_guess")
    with pytest.raises(ArrivalRefused) as refused:
        await send("wait_guess")
    assert refused.value.reason == "too_many_requests"


async def test_it_goes_on_with_todays_permissions(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider)
    await sync_to_async(switch_tool)(cast.acme, "send_letter", "off")
    await send(tokens[0])
    fake_provider.call("send_letter", {"to": "Bob"})
    await work()
    assert "may not be used now" in results(fake_provider)[-1]
    assert await User.objects.filter(pk=cast.alice.pk).aexists()
