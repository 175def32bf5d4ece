"""Four-eyes: at no door does who asked approve a call of their own; they can reject it, and answer questions."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.models import Approval, Provider, Run, Tenant, ToolCall
from tests.api.test_runs import alice_at
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.runs.test_waiting_calls import answer_page, post_action, waiting_call
from tests.websocket.test_websocket import in_db, until
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def four_eyes(cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(approvals_by_others=True)


async def decide(server: Server, cast: Cast, started: dict[str, Any], *, approved: bool) -> dict[str, Any]:
    """Answer the waiting call in Alice's chat; the last event."""
    call = await ToolCall.objects.aget()
    resume = [{"interruptId": call.call_id, "status": "resolved", "payload": {"approved": approved}}]
    async with open_socket(server.url, user=cast.alice) as socket:
        given = run_input("", thread=started["threadId"], messages=[], resume=resume)
        await socket.send(given)
        last: dict[str, Any] = (await socket.until_end(given["runId"]))[-1]
        return last


async def still_waits() -> None:
    call = await ToolCall.objects.aget()
    assert (call.status, call.decided_by_id) == (ToolCall.Status.AWAITING_APPROVAL, None)
    assert await Run.objects.acount() == 1


@pytest.mark.apps
async def test_who_asked_is_refused_in_the_chat_and_over_rest_and_another_approves(
    uvicorn_server: Server, cast: Cast, four_eyes: None, provider: Provider, fake_provider: FakeProvider
) -> None:
    started = await waiting_call(uvicorn_server, cast, fake_provider)
    refused = await decide(uvicorn_server, cast, started, approved=True)
    assert (refused["type"], refused["code"]) == ("RUN_ERROR", "approval_forbidden")
    await still_waits()
    call, run = await ToolCall.objects.aget(), await Run.objects.aget()
    async with alice_at(uvicorn_server, cast) as client:
        ways: list[dict[str, Any]] = [{}, {"response": "It is noon"}, {"edited_arguments": {}}]
        for more in ways:
            decision = {"call_id": call.call_id, "approved": True, **more}
            answer = await client.post(f"runs/{run.run_id}/approvals/", json={"decisions": [decision]})
            assert (answer.status_code, answer.json()["code"]) == (403, "approval_forbidden")
    await still_waits()
    await post_action(uvicorn_server, cast.amy, "approve", call.pk)
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    call = await ToolCall.objects.aget()
    assert (call.status, call.decided_by_id) == (ToolCall.Status.OK, cast.amy.pk)


@pytest.mark.apps
async def test_an_admin_does_not_approve_their_own_call_in_the_admin(
    uvicorn_server: Server, cast: Cast, four_eyes: None, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", policy="ask")
    fake_provider.call("current_time", {})
    fake_provider.reply("Done.")
    async with open_socket(uvicorn_server.url, user=cast.amy) as socket:
        await socket.ask("What time is it?")
    call = await Approval.objects.aget()
    assert "another person to approve" in (await answer_page(uvicorn_server, cast.amy, call.pk)).text
    await post_action(uvicorn_server, cast.amy, "approve", call.pk)
    page = await answer_page(uvicorn_server, cast.amy, call.pk, **{f"call-{call.pk}-choice": "approve"})
    assert page.status_code == 200 and "Somebody else must approve" in page.text
    await still_waits()
    assert (
        await answer_page(uvicorn_server, cast.root, call.pk, **{f"call-{call.pk}-choice": "approve"})
    ).status_code == 302
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    assert (await ToolCall.objects.aget()).decided_by_id == cast.root.pk


async def test_who_asked_can_reject_and_without_the_setting_approve(
    uvicorn_server: Server, cast: Cast, four_eyes: None, provider: Provider, fake_provider: FakeProvider
) -> None:
    started = await waiting_call(uvicorn_server, cast, fake_provider)
    assert (await decide(uvicorn_server, cast, started, approved=False))["type"] == "RUN_FINISHED"
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.DECLINED


async def test_a_tools_question_is_answered_by_who_was_asked(
    uvicorn_server: Server, cast: Cast, four_eyes: None, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "ask_user")
    fake_provider.call(
        "ask_user", {"question": "Which one?", "fields": [{"name": "which", "label": "Which", "kind": "text"}]}
    )
    fake_provider.reply("Thanks.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Ask me")
        interrupt = frames[-1]["outcome"]["interrupts"][0]
        assert interrupt["reason"] == "input_required"
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"which": "this"}}]
        given = run_input("", thread=frames[0]["threadId"], messages=[], resume=resume)
        await socket.send(given)
        assert (await socket.until_end(given["runId"]))[-1]["type"] == "RUN_FINISHED"
