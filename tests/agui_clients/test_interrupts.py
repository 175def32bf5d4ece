"""AG-UI's rules of interrupts, by their numbers (docs.ag-ui.com, Interrupts, Contract rules)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async as in_db

from assistant.models import Provider, Run, ToolCall
from tests.agui import text_of
from tests.agui_clients.door import Talk, entry, error_of, interrupts_of, talking
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = pytest.mark.django_db(transaction=True)

YES, NO = {"approved": True}, {"approved": False, "reason": "Not now."}


@pytest.fixture
async def talk(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> AsyncIterator[Talk]:
    """A conversation in which two calls wait for approval."""
    await in_db(switch_tool)(cast.acme, "current_time", policy="ask")
    fake_provider.calls([("current_time", {}), ("current_time", {"timezone": "UTC"})])
    async with talking(uvicorn_server, cast.acme, cast.alice) as talk:
        yield talk


async def test_an_interrupt_has_the_words_that_clients_know(talk: Talk) -> None:
    first, second = interrupts_of(await talk.ask("What time is it?"))
    assert (first["reason"], first["toolCallId"]) == ("tool_call", first["id"]) and first["id"] != second["id"]
    schema = first["responseSchema"]
    # assistant-ui answers by itself only what these keywords allow, and `approved` alone is required.
    assert set(schema) <= {"type", "title", "description", "properties", "required"}
    assert schema["required"] == ["approved"] and schema["properties"]["approved"] == {"type": "boolean"}


async def test_rule_1_the_same_thread(talk: Talk) -> None:
    asked = interrupts_of(await talk.ask("What time is it?"))
    talk.thread = "another thread"
    assert error_of(await talk.ask(resume=[entry(one, YES) for one in asked])) == "invalid_input"
    assert await ToolCall.objects.filter(status=ToolCall.Status.AWAITING_APPROVAL).acount() == 2


async def test_rule_2_an_answer_names_an_interrupt(talk: Talk) -> None:
    asked = interrupts_of(await talk.ask("What time is it?"))
    named = [*(entry(one, YES) for one in asked), entry({"id": "unknown"}, YES)]
    assert error_of(await talk.ask(resume=named)) == "invalid_input"


async def test_rule_3_all_open_interrupts_are_answered(talk: Talk, fake_provider: FakeProvider) -> None:
    first, second = interrupts_of(await talk.ask("What time is it?"))
    refused = await talk.answer(first, YES)
    assert error_of(refused) == "invalid_input" and second["id"] in refused[-1]["message"]
    assert await ToolCall.objects.filter(status=ToolCall.Status.AWAITING_APPROVAL).acount() == 2
    fake_provider.reply("Noon.")
    assert text_of(await talk.ask(resume=[entry(first, YES), entry(second, NO)])) == "Noon."
    statuses = {call.call_id: call.status async for call in ToolCall.objects.all()}
    assert statuses == {first["id"]: "ok", second["id"]: "declined"}


async def test_rule_4_open_interrupts_block_new_input(talk: Talk, fake_provider: FakeProvider) -> None:
    asked = interrupts_of(await talk.ask("What time is it?"))
    assert error_of(await talk.ask("Never mind.")) == "invalid_input"
    fake_provider.reply("As you like.")
    said = await talk.ask("Never mind.", resume=[entry(one) for one in asked])
    assert text_of(said) == "As you like."
    assert [call.status async for call in ToolCall.objects.all()] == ["declined", "declined"]
    assert fake_provider.requests[-1].json["messages"][-1]["content"].endswith("Never mind.")


async def test_rule_5_answers_may_be_sent_again(talk: Talk, fake_provider: FakeProvider) -> None:
    resume = [entry(one, YES) for one in interrupts_of(await talk.ask("What time is it?"))]
    fake_provider.reply("Noon.")
    first = await talk.ask(resume=resume)
    again = await talk.ask(resume=list(reversed(resume)))
    assert first == again and len(fake_provider.requests) == 2
    assert error_of(await talk.ask(resume=[{**one, "payload": NO} for one in resume])) == "invalid_input"
    assert await Run.objects.acount() == 2


async def test_rule_6_answers_are_checked(talk: Talk) -> None:
    asked = interrupts_of(await talk.ask("What time is it?"))
    for wrong in (
        {"approved": "yes"},
        {"approved": True, "args": {}},
        {"approved": True, "editedArgs": {"timezone": 1}},
    ):
        assert error_of(await talk.ask(resume=[entry(one, wrong) for one in asked])) == "invalid_input"
    assert await ToolCall.objects.filter(status=ToolCall.Status.AWAITING_APPROVAL).acount() == 2


@pytest.mark.parametrize("is_marked", [False, True])
async def test_rule_7_an_expired_interrupt_is_abandoned_and_not_answered(
    talk: Talk, fake_provider: FakeProvider, is_marked: bool
) -> None:
    asked = interrupts_of(await talk.ask("What time is it?"))
    for call in [call async for call in ToolCall.objects.all()]:
        await ToolCall.objects.filter(pk=call.pk).aupdate(started_at=call.started_at - timedelta(hours=25))
    if is_marked:
        await ToolCall.objects.aupdate(status=ToolCall.Status.EXPIRED)
    assert error_of(await talk.ask(resume=[entry(one, YES) for one in asked])) == "invalid_input"
    fake_provider.reply("Ask me again.")
    assert text_of(await talk.ask("Go on", resume=[entry(one) for one in asked])) == "Ask me again."
    assert not await ToolCall.objects.filter(status=ToolCall.Status.OK).aexists()


async def test_an_answer_under_the_runs_own_id_continues_it(talk: Talk, fake_provider: FakeProvider) -> None:
    """As CopilotKit answers, with messages of the calls that are nothing of ours."""
    asked_by = talk.given("What time is it?", run="run-1")
    asked = interrupts_of(await talk.post(asked_by))
    fake_provider.reply("Noon.")
    for one in asked:
        talk.messages.append(
            {"id": f"t{one['id']}", "role": "tool", "toolCallId": one["id"], "content": '{"approved":true}'}
        )
    given = talk.given(run="run-1", resume=[entry(one, YES) for one in asked])
    events = await talk.post(given)
    assert text_of(events) == "Noon."
    assert {(events[0]["runId"], events[-1]["runId"])} == {("run-1", "run-1")}
    assert (await talk.post(given)) == events  # sent again, it joins what it began
    other = talk.given(run="run-1", resume=[entry(one, NO) for one in asked])
    assert error_of(await talk.post(other)) == "invalid_input"
    assert interrupts_of(await talk.post(asked_by)) == asked  # and so does the first input
    first, second = [run async for run in Run.objects.order_by("number")]
    assert (first.run_id, second.continues) == ("run-1", "run-1") and second.run_id != "run-1"
    state = (await talk.client.get("/api/v1/tenants/acme/runs/run-1/")).json()
    assert (state["status"], state["text"]) == ("finished", "Noon.")


async def test_a_run_that_asks_twice_is_continued_twice_under_one_id(talk: Talk, fake_provider: FakeProvider) -> None:
    asked = interrupts_of(await talk.ask("What time is it?", run="run-1"))
    fake_provider.call("current_time", {"timezone": "CET"})
    again = interrupts_of(await talk.ask(run="run-1", resume=[entry(one, YES) for one in asked]))
    fake_provider.reply("One.")
    assert text_of(await talk.ask(run="run-1", resume=[entry(again[0], YES)])) == "One."
    assert await Run.objects.filter(continues="run-1").acount() == 2


async def test_nobody_else_answers(talk: Talk, uvicorn_server: Server, cast: Cast) -> None:
    asked = interrupts_of(await talk.ask("What time is it?", run="run-1"))
    for tenant, user in ((cast.acme, cast.amy), (cast.globex, cast.mallory)):
        async with talking(uvicorn_server, tenant, user, thread=talk.thread) as other:
            assert (
                error_of(await other.ask(run="run-1", resume=[entry(one, YES) for one in asked])) == "thread_not_found"
            )
    assert await ToolCall.objects.filter(status=ToolCall.Status.AWAITING_APPROVAL).acount() == 2
