"""Calls that wait for approval, and long conversations."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
from django.test import Client
from django.utils import timezone

from assistant.models import (
    Approval,
    Assistant,
    AuditEntry,
    Conversation,
    Incident,
    Provider,
    Run,
    ToolCall,
    UsageEntry,
)
from assistant.services.runs.approval_expiry import expire_approvals
from tests.agui import check_frame, custom_name, run_of, seq_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import Recorded, reply
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import in_db, until
from tests.ws import open_socket, run_input, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)


async def waiting_call(server: Server, cast: Cast, fake_provider: FakeProvider) -> dict[str, Any]:
    await in_db(switch_tool)(cast.acme, "current_time", policy="ask")
    fake_provider.call("current_time", {})
    fake_provider.reply("It is late.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("What time is it?")
    return frames[0]


async def post_action(server: Server, user: Any, action: str, pk: int) -> httpx2.Response:
    cookie = await in_db(session_cookie)(user)
    token = "t" * 32
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as client:
        return await client.post(
            "/admin/assistant/approval/",
            data={"action": action, "_selected_action": str(pk), "csrfmiddlewaretoken": token},
            headers={"Cookie": f"{cookie}; csrftoken={token}", "Origin": server.url},
        )


async def test_a_members_run_continues_after_an_operator_approves(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await waiting_call(uvicorn_server, cast, fake_provider)
    cast.amy.is_staff = True
    await cast.amy.asave()
    row = await Approval.objects.aget()
    answer = await post_action(uvicorn_server, cast.amy, "approve", row.pk)
    assert answer.status_code == 302
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    call = await ToolCall.objects.aget()
    assert (call.status, call.decided_by_id) == (ToolCall.Status.OK, cast.amy.pk)
    assert (await Run.objects.aget(number=2)).user_id == cast.alice.pk


async def answer_page(server: Server, user: Any, pk: int, **fields: str) -> httpx2.Response:
    """Open the page on which a call is answered, or send its form."""
    cookie, token = await in_db(session_cookie)(user), "t" * 32
    headers = {"Cookie": f"{cookie}; csrftoken={token}", "Origin": server.url}
    path = f"/admin/assistant/approval/{pk}/change/"
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as client:
        if not fields:
            return await client.get(path, headers=headers)
        return await client.post(path, data={**fields, "csrfmiddlewaretoken": token}, headers=headers)


async def two_waiting_calls(server: Server, cast: Cast, fake_provider: FakeProvider) -> list[int]:
    await in_db(switch_tool)(cast.acme, "calculate", policy="ask")
    fake_provider.calls([("calculate", {"expression": "1+1"}), ("calculate", {"expression": "2+2"})])
    fake_provider.reply("Done.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Add")
    expiries = [interrupt["expiresAt"] for interrupt in frames[-1]["outcome"]["interrupts"]]
    assert len(expiries) == 2 and all(datetime.fromisoformat(expiry) > timezone.now() for expiry in expiries)
    return [pk async for pk in Approval.objects.order_by("pk").values_list("pk", flat=True)]


async def test_an_operator_edits_one_call_and_answers_instead_of_another(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    one, two = await two_waiting_calls(uvicorn_server, cast, fake_provider)
    page = await answer_page(uvicorn_server, cast.amy, one)
    assert "1+1" in page.text and "2+2" in page.text
    form = {f"call-{one}-choice": "approve", f"call-{one}-arg_expression": "", f"call-{two}-choice": "respond"}
    wrong = await answer_page(uvicorn_server, cast.amy, one, **form)
    assert "needs a value here" in wrong.text and "Say what the result is" in wrong.text
    form |= {f"call-{one}-arg_expression": "20+22", f"call-{two}-response": "It is five."}
    assert (await answer_page(uvicorn_server, cast.amy, one, **form)).status_code == 302
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    results = [message["content"] for message in fake_provider.requests[-1].messages if message["role"] == "tool"]
    assert "42" in results[0] and results[1] == "It is five."
    rows = [row async for row in ToolCall.objects.order_by("pk").values_list("status", "decided_by__username")]
    assert rows == [("ok", "amy"), ("ok", "amy")]
    actions = [row async for row in AuditEntry.objects.order_by("pk").values_list("action", flat=True)]
    assert actions == ["approval.approve", "approval.respond"]
    told = await answer_page(uvicorn_server, cast.amy, one, **form)
    assert "answered by amy" in told.text
    assert await Run.objects.acount() == 2


async def test_two_buttons_answer_all_calls_of_a_run_and_say_what_became_of_them(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    one, two = await two_waiting_calls(uvicorn_server, cast, fake_provider)
    shown = {f"call-{one}-arg_expression": "1+1", f"call-{two}-arg_expression": "2+2"}
    answered = await answer_page(uvicorn_server, cast.amy, one, do="approve", **shown)
    assert answered.headers["Location"] == f"/admin/assistant/approval/{one}/change/"
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    assert [row async for row in ToolCall.objects.values_list("status", flat=True)] == ["ok", "ok"]
    assert "<strong>Done</strong>" in (await answer_page(uvicorn_server, cast.amy, one)).text


async def test_an_operator_declines_with_a_reason_and_other_tenants_see_nothing(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    one, two = await two_waiting_calls(uvicorn_server, cast, fake_provider)
    form = {f"call-{pk}-choice": "reject" for pk in (one, two)} | {f"call-{one}-reason": "Too dear"}
    assert (await answer_page(uvicorn_server, cast.greta, one, **form)).status_code in (302, 404)
    assert await Approval.objects.acount() == 2
    assert (await answer_page(uvicorn_server, cast.amy, one, **form)).status_code == 302
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    assert "Too dear" in str(fake_provider.requests[-1].messages)


async def test_a_member_answers_instead_of_the_tool(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    started = await waiting_call(uvicorn_server, cast, fake_provider)
    call = await ToolCall.objects.aget()
    payload = {"approved": True, "response": "It is noon."}
    resume = [{"interruptId": call.call_id, "status": "resolved", "payload": payload}]
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send(run_input("", thread=started["threadId"], messages=[], resume=resume))
        frames = await socket.until_end()
    assert [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"] == ["It is noon."]
    call = await ToolCall.objects.aget()
    assert (call.status, call.rule) == ("ok", "A person answered in the tool's place.")


async def test_a_switch_changed_meanwhile_applies_to_an_approved_call(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    started = await waiting_call(uvicorn_server, cast, fake_provider)
    await in_db(switch_tool)(cast.acme, "current_time", policy="off")
    call = await ToolCall.objects.aget()
    resume = [{"interruptId": call.call_id, "status": "resolved", "payload": {"approved": True}}]
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send(run_input("", thread=started["threadId"], messages=[], resume=resume))
        await socket.until_end()
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.REFUSED


async def test_another_tenants_admin_cannot_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await waiting_call(uvicorn_server, cast, fake_provider)
    cast.greta.is_staff = True
    await cast.greta.asave()
    row = await Approval.objects.aget()
    await post_action(uvicorn_server, cast.greta, "approve", row.pk)
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.AWAITING_APPROVAL


async def test_an_expired_approval_cannot_be_answered(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    started = await waiting_call(uvicorn_server, cast, fake_provider)
    await ToolCall.objects.aupdate(started_at=timezone.now() - timedelta(days=2))
    assert await in_db(expire_approvals)() == 1
    call = await ToolCall.objects.aget()
    resume = [{"interruptId": call.call_id, "status": "resolved", "payload": {"approved": True}}]
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send(run_input("", thread=started["threadId"], messages=[], resume=resume))
        refusal = (await socket.until_end())[-1]
        assert refusal["code"] == "invalid_input" and "expired" in refusal["message"]
        await socket.send(given := run_input("Never mind", thread=started["threadId"]))
        assert (await socket.until_end(given["runId"]))[-1]["type"] == "RUN_FINISHED"
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.EXPIRED


async def test_a_new_message_abandons_waiting_calls(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    started = await waiting_call(uvicorn_server, cast, fake_provider)
    abandoned = [{"interruptId": (await ToolCall.objects.aget()).call_id, "status": "cancelled"}]
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send(given := run_input("Never mind", thread=started["threadId"]))
        assert (await socket.until_end(given["runId"]))[-1]["code"] == "invalid_input"
        await socket.send(given := run_input("Never mind", thread=started["threadId"], resume=abandoned))
        assert (await socket.until_end(given["runId"]))[-1]["type"] == "RUN_FINISHED"
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.DECLINED


async def test_a_result_with_another_tenants_row_is_withheld_and_recorded(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("leak_a_row", {"slug": "globex"})
    fake_provider.reply("Nothing to tell.")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.ask("Leak")
    assert "Globex's support" not in str(fake_provider.requests[-1].json)
    incident = await Incident.objects.aget()
    assert (incident.tenant_id, incident.tool) == (cast.acme.pk, "leak_a_row")
    client = Client()
    await in_db(client.force_login)(cast.amy)
    for address in ("/admin/assistant/incident/", f"/admin/assistant/incident/{incident.pk}/change/"):
        assert "leak_a_row" in (await in_db(client.get)(address)).content.decode()
    await in_db(client.force_login)(cast.greta)
    assert "leak_a_row" not in (await in_db(client.get)("/admin/assistant/incident/")).content.decode()


def summarising(request: Recorded) -> Any:
    if "Summarise this conversation" in str(request.messages[0]["content"]):
        return reply("They talked about sheep.", usage={"prompt_tokens": 5000, "completion_tokens": 70})(request)
    return reply("baa " * 60)(request)


async def test_the_limit_of_messages_bounds_what_the_model_is_sent(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(history_messages=3)
    thread = str(uuid.uuid4())
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        for number in range(4):
            fake_provider.reply(f"Answer {number}")
            await socket.ask(f"Question {number}", thread=thread)
    sent = [
        message["content"] for message in fake_provider.requests[-1].json["messages"] if message["role"] != "system"
    ]
    assert sent == ["Question 2", "Answer 2", "Question 3"]


async def test_a_new_summary_reaches_the_members_open_pages(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(history_tokens=400)
    fake_provider.rule(summarising)
    thread = str(uuid.uuid4())
    url = uvicorn_server.url
    async with open_socket(url, user=cast.alice) as page, open_socket(url, user=cast.alice) as program:
        first = await page.ask("Sheep number 0 " + "wool " * 40, thread=thread)
        await page.attach(thread, render="html")
        await program.attach(thread)
        for socket in (page, program):
            await socket.until_end()
        for number in range(1, 6):
            await program.ask(f"Sheep number {number} " + "wool " * 40, thread=thread)
        told = await page.until_custom("thread.summary")
        check_frame(told)
        assert told["value"] == {"summary": "They talked about sheep."}
        assert told["metadata"]["run"]["thread"] == thread
        await until(lambda: Run.objects.exclude(status="running").count() == 6)
        await program.send({"type": "ping"})
        await program.until_custom("pong")
        assert not any(custom_name(frame) == "thread.summary" for frame in program.frames)
        await page.attach(thread, after=(run_of(first[-1]), seq_of(first[-1])), render="html")
        assert (await page.until_custom("thread.summary"))["value"] == told["value"]


async def test_a_long_conversation_is_summarised_and_continues_from_the_summary(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(history_tokens=400)
    fake_provider.rule(summarising)
    thread = str(uuid.uuid4())
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        for number in range(6):
            await socket.ask(f"Sheep number {number} " + "wool " * 40, thread=thread)
        conversation = await until(lambda: Conversation.objects.exclude(summary="").first())
        await socket.ask("And now?", thread=thread)
    # A summary that is being made again may have been asked for since.
    sent = next(one.messages for one in reversed(fake_provider.requests) if one.last_text == "And now?")
    assert [message["role"] for message in sent].count("system") == 1
    assert "They talked about sheep." in sent[1]["content"]
    assert len(sent) < 12
    assert conversation.summarised_to > 0
    entry = await UsageEntry.objects.filter(input_tokens=5000).select_related("run").afirst()
    assert entry is not None and (entry.output_tokens, entry.tenant_id) == (70, cast.acme.pk)
    assert entry.run is not None and entry.run.input_tokens > 5000 and entry.run.output_tokens > 70
    client = Client()
    await in_db(client.force_login)(cast.alice)
    page = await in_db(client.get)(f"/t/acme/c/{thread}/")
    assert "They talked about sheep." in page.content.decode()
    await in_db(client.force_login)(cast.amy)
    page = await in_db(client.get)(f"/admin/assistant/conversation/{thread}/change/")
    assert "They talked about sheep." in page.content.decode()
