"""Questions of external servers in the chat: a form, one answer, given to the server when it asks again."""

from __future__ import annotations

import json

import pytest

from assistant.models import Provider, Run, ToolCall
from tests.agui import text_of
from tests.base import Cast
from tests.contrib.mcp_servers.questions.acts import add, asked, result_in
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.mcp.outside import Outside
from tests.mcp.questions.acts import SEAT, SENT, answers_in, calls_in
from tests.websocket.test_questions import answer
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_question_of_a_server_is_a_form_and_the_server_gets_the_answer(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book")
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider, "book")
        assert interrupt["reason"] == "input_required"
        assert "crm" in interrupt["message"]
        assert interrupt["message"].endswith('“Which "seat" shall it be?”')
        schema = interrupt["responseSchema"]
        assert schema["required"] == ["seat", "people"]
        assert schema["properties"]["seat"]["enum"] == ["Window", "Aisle"]
        assert list(schema["properties"]) == ["seat", "people", "field_3", "extras"]
        fake_provider.reply("Booked.")
        assert text_of(await answer(socket, thread, interrupt, SEAT)) == "Booked."
    assert answers_in(asking)[-1] == {"action": "accept", "content": SENT}
    assert json.loads(result_in(fake_provider).splitlines()[1]) == [{"action": "accept", "content": SENT}]
    row = await ToolCall.objects.aget()
    assert (row.status, row.questions) == ("ok", "")


async def test_each_question_is_asked_in_its_turn(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book_surely")
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, first = await asked(socket, fake_provider, "book_surely")
        frames = await answer(socket, thread, first, SEAT)
        (second,) = frames[-1]["outcome"]["interrupts"]
        assert "Are you sure?" in second["message"]
        assert (second["toolCallId"], second["id"]) == (first["id"], f"{first['id']}~2")
        late = await answer(socket, thread, first, {"go_on": True})
        assert late[-1]["code"] == "invalid_input"
        fake_provider.reply("Booked.")
        assert text_of(await answer(socket, thread, second, {"go_on": True})) == "Booked."
    accepted = [one["content"] for one in answers_in(asking) if one["action"] == "accept"]
    assert accepted[-2:] == [SENT, {}]
    assert await ToolCall.objects.acount() == 1
    assert (await ToolCall.objects.aget()).status == "ok"


async def test_an_answer_counts_once_and_has_to_fit(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book")
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider, "book")
        for unfit in ({"seat": "w", "people": 2}, {"people": 2}, {"seat": "Aisle", "people": 99}, {"approved": True}):
            refused = await answer(socket, thread, interrupt, unfit)
            assert refused[-1]["code"] == "invalid_input"
        fake_provider.reply("Booked.")
        await answer(socket, thread, interrupt, SEAT)
        calls = calls_in(asking)
        again = await answer(socket, thread, interrupt, {**SEAT, "people": 3})
        assert again[-1]["type"] == "RUN_ERROR"
    assert calls_in(asking) == calls
    assert {one["content"]["people"] for one in answers_in(asking) if one["content"]} == {2}


async def test_a_question_that_is_not_answered_ends_the_call(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book")
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider, "book")
        fake_provider.reply("As you wish.")
        await answer(socket, thread, interrupt, {"approved": False, "reason": "too nosy"})
    assert "too nosy" in result_in(fake_provider)
    assert not [one for one in answers_in(asking) if one["action"] == "accept"]
    assert (await ToolCall.objects.aget()).questions == ""


async def test_the_arguments_that_a_person_has_edited_are_kept(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book", needs_approval=True)
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, approval = await asked(socket, fake_provider, "book")
        assert approval["reason"] == "tool_call"
        frames = await answer(socket, thread, approval, {"approved": True, "editedArgs": {"what": "a boat"}})
        (question,) = frames[-1]["outcome"]["interrupts"]
        assert question["reason"] == "input_required"
        fake_provider.reply("Booked.")
        await answer(socket, thread, question, SEAT)
    assert {entry["arguments"]["what"] for entry in asking.log() if "name" in entry} == {"a boat"}
    assert answers_in(asking)[-1]["content"] == SENT


async def test_a_question_belongs_to_its_own_call(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book", "book_surely", "plain")
    calls = [("crm__book", {"what": "one"}), ("crm__plain", {}), ("crm__book_surely", {"what": "two"})]
    fake_provider.calls(calls)
    async with open_socket(site.url, user=cast.alice) as socket:
        frames = await socket.ask("Book both")
        thread, interrupts = frames[0]["threadId"], frames[-1]["outcome"]["interrupts"]
        assert len(interrupts) == 2
        given = [{"seat": "Aisle", "people": 1}, {"seat": "Window", "people": 2}]
        resume = [
            {"interruptId": one["id"], "status": "resolved", "payload": payload}
            for one, payload in zip(interrupts, given, strict=True)
        ]
        await socket.send(wanted := run_input("", thread=thread, messages=[], resume=resume))
        frames = await socket.until_end(wanted["runId"])
        (sure,) = frames[-1]["outcome"]["interrupts"]
        fake_provider.reply("Booked.")
        await answer(socket, thread, sure, {"go_on": True})
    results = [one["content"] for one in fake_provider.requests[-1].json["messages"] if one["role"] == "tool"]
    assert '"seat": "a", "people": 1' in results[0] and '"seat": "w", "people": 2' in results[2]


async def test_nobody_else_answers_and_no_log_has_the_answer(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book")
    secret = {**SEAT, "field_3": "swordfish-7781"}
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider, "book")
        for user, tenant in ((cast.mallory, "globex"), (cast.amy, "acme")):
            async with open_socket(site.url, user=user, tenant=tenant) as other:
                assert (await answer(other, thread, interrupt, secret))[-1]["type"] == "RUN_ERROR"
        assert not [one for one in answers_in(asking) if one["action"] == "accept"]
        fake_provider.reply("Booked.")
        await answer(socket, thread, interrupt, secret)
    assert answers_in(asking)[-1]["content"]["reason"] == "swordfish-7781"
    assert "swordfish" not in site.log
    row = await Run.objects.filter(client_input__isnull=False).afirst()
    assert row is None
