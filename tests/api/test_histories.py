"""Conversations that their clients carry: long ones go on, and what a client sends back by itself ends none."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from assistant.api.histories import MAX_VALUES
from assistant.models import Attachment, Message, Provider, Run
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.test_completions import client_of
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.files import samples
from tests.websocket.test_websocket import in_db
from tests.ws import run_input

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "api/v1/tenants/acme/assistants/support/runs/"
LONG = "Words, and “more” words. " * 1200
NOT_ANSWERED = {"role": "assistant", "content": ""}


@asynccontextmanager
async def http(server: Server, cast: Cast) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client:
        yield client


def turns(count: int) -> list[Any]:
    """A history of questions and answers, 60,000 characters each."""
    return [
        {"id": f"m{number}", "role": "assistant" if number % 2 else "user", "content": f"{number} {LONG}"}
        for number in range(2 * count)
    ]


async def test_an_agui_client_goes_on_however_long_its_history_is(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Still here")
    fake_provider.reply("Once more")
    given = run_input("And now?")
    # Of what is not needed, nothing but ids and roles is looked at.
    odd = [{"id": "a", "role": "of tomorrow"}, {"id": "b", "role": "assistant", "content": 7}]
    given["messages"] = [*turns(36), *odd, *given["messages"]]
    assert len(json.dumps(given)) > 2_000_000
    async with http(uvicorn_server, cast) as client:
        first = await client.post(RUNS, json=given, headers={"Idempotency-Key": "once"})
        again = await client.post(RUNS, json=given, headers={"Idempotency-Key": "once"})
        given["messages"][0]["content"] = "changed"
        other = await client.post(RUNS, json=given, headers={"Idempotency-Key": "once"})
    assert "Still here" in first.text and "Still here" in again.text
    assert again.headers["Idempotent-Replayed"] == "true" and "idempotency_conflict" in other.text
    # The server keeps the history: the client's is not read.
    assert [one["content"] for one in fake_provider.requests[0].messages[1:]] == ["And now?"]


async def test_only_the_history_of_an_agui_client_may_be_long(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    history = turns(5)
    many = {"id": "z", "role": "user", "content": [{"type": "text", "text": ""}] * MAX_VALUES}
    deep = {"id": "z", "role": "user", "content": json.loads("[" * 500 + "]" * 500)}
    refused = {
        "state": (run_input("Hi", state={"page": LONG * 10}), 413, "too_large"),
        "a message without an id": ({"messages": [*history, {"role": "user"}]}, 400, "invalid_input"),
        "no list": ({"messages": LONG * 10}, 400, "invalid_input"),
        "too many values": ({"messages": [*history, many]}, 400, "invalid_input"),
        "too deep": ({"messages": [*history, deep]}, 400, "invalid_input"),
    }
    async with http(uvicorn_server, cast) as client:
        for name, (given, status, code) in refused.items():
            answer = await client.post(RUNS, json={**run_input("Hi"), **given})
            assert (name, answer.status_code, answer.json()["code"]) == (name, status, code)
        broken = await client.post(RUNS, content=json.dumps(run_input(LONG * 10)).encode()[:-1])
        assert (broken.status_code, broken.json()["code"]) == (400, "invalid_input")
    assert fake_provider.requests == []


async def test_the_end_of_a_long_history_is_checked_as_ever(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    given = run_input("And now?")
    given["messages"] = [*turns(5), {"id": "last", "role": "user", "content": 7}]
    async with http(uvicorn_server, cast) as client:
        answer = await client.post(RUNS, json=given)
    assert "messages.10.user.content" in answer.text and '"invalid_input"' in answer.text


async def test_a_long_conversation_goes_on_at_chat_completions(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Still here")
    messages = [*turns(36), {"role": "user", "content": "And now?"}]
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.chat.completions.create(model="support", messages=messages)
    assert answer.choices[0].message.content == "Still here"
    sent = fake_provider.requests[0].messages
    # As much as the assistant's window holds, the newest last.
    assert sent[-1]["content"] == "And now?" and sent[-2]["content"].startswith("71 Words")
    assert 2 < len(sent) < len(messages)


async def test_a_long_conversation_goes_on_as_responses(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Still here")
    items = [{"role": one["role"], "content": one["content"]} for one in turns(36)]
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(
            model="support", input=[*items, {"role": "user", "content": "And now?"}], store=False
        )
    assert answer.output_text == "Still here"
    assert fake_provider.requests[0].messages[-1]["content"] == "And now?"


async def test_a_message_is_as_long_as_the_model_reads(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Long")
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.chat.completions.create(
            model="support", messages=[{"role": "user", "content": LONG * 10}]
        )
    assert answer.choices[0].message.content == "Long"
    stored = await in_db(lambda: Message.objects.get(role="user").content)()
    assert stored == LONG * 10


async def test_a_large_picture_is_taken_by_every_door(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(sees_images=True)
    picture = samples.PNG + b"\0" * 900_000
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    chat = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    item = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": url}]
    part = {"type": "image", "source": {"type": "data", "value": url.partition(",")[2], "mimeType": "image/png"}}
    agui = run_input("")
    agui["messages"][0]["content"] = [{"type": "text", "text": "What is it?"}, part]
    async with http(uvicorn_server, cast) as client:
        asked = {"model": "support", "messages": [{"role": "user", "content": chat}]}
        assert (await client.post("v1/chat/completions", json=asked)).status_code == 200
        asked = {"model": "support", "input": [{"role": "user", "content": item}]}
        assert (await client.post("v1/responses", json=asked)).status_code == 200
        assert '"RUN_FINISHED"' in (await client.post(RUNS, json=agui)).text
    assert await in_db(lambda: [row.size for row in Attachment.objects.all()])() == [len(picture)] * 3


async def test_what_clients_send_back_by_themselves_ends_no_conversation(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    messages = [
        {"role": "developer", "content": "Be brief.", "name": "me"},
        {"role": "system", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "Hear"}, sound]},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "user", "content": "", "name": "ann"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "Never."}], "audio": None},
        {"role": "user", "content": "Hi", "of_tomorrow": {"a": 1}},
        NOT_ANSWERED,
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    more = {"stop": ["", None][:1], "prediction": {"type": "content", "content": "x"}, "function_call": "auto", "x": 1}
    async with http(uvicorn_server, cast) as client:
        answer = await client.post("v1/chat/completions", json={"model": "support", "messages": messages, **more})
    assert answer.status_code == 200, answer.text
    told = [(one["role"], one["content"]) for one in fake_provider.requests[0].messages[1:]]
    assert told == [
        ("user", "Be brief."),
        ("user", "Hear\n[A sound recording, which cannot be played here.]"),
        ("assistant", "No."),
        ("assistant", "Never."),
        ("user", "Hi"),
        ("user", "Hello?"),
    ]


async def test_responses_leave_out_empty_answers_and_what_openais_own_tools_found(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    items = [
        {"role": "user", "content": "Hi"},
        NOT_ANSWERED,
        {"type": "message", "role": "assistant", "content": []},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "a"}},
        {"role": "user", "content": "Hello?"},
    ]
    async with http(uvicorn_server, cast) as client:
        answer = await client.post("v1/responses", json={"model": "support", "input": items})
    assert answer.status_code == 200, answer.text
    assert [one["content"] for one in fake_provider.requests[0].messages[1:]] == ["Hi", "Hello?"]


async def test_a_picture_counts_as_new_in_the_users_last_message_alone(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    url = f"data:image/png;base64,{base64.b64encode(samples.PNG).decode()}"
    shown = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    item = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": url}]
    more = [NOT_ANSWERED, {"role": "user", "content": "Hello?"}]
    answered = [{"role": "assistant", "content": "A dot."}, {"role": "user", "content": "Sure?"}]
    told = [{"role": "developer", "content": "Be brief."}]
    taken = [more, answered, [*answered, *more], more[1:]]
    refused = [[], told, more[:1]]
    async with http(uvicorn_server, cast) as client:
        for door, name, content in (("chat/completions", "messages", shown), ("responses", "input", item)):
            first = {"role": "user", "content": content}
            for history in taken:
                answer = await client.post(f"v1/{door}", json={"model": "support", name: [first, *history]})
                assert answer.status_code == 200, answer.text
                sent = fake_provider.requests[-1].messages
                assert "that is not shown here" in sent[1]["content"] and sent[-1]["content"] == history[-1]["content"]
            for history in refused:
                answer = await client.post(f"v1/{door}", json={"model": "support", name: [first, *history]})
                assert answer.json()["error"]["code"] == "attachment_refused", answer.text


async def test_a_new_sound_recording_and_nothing_at_all_are_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    sound = [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]
    async with http(uvicorn_server, cast) as client:
        for messages in ([{"role": "user", "content": sound}], [NOT_ANSWERED], [{"role": "user", "content": ""}]):
            answer = await client.post("v1/chat/completions", json={"model": "support", "messages": messages})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_value")
    assert fake_provider.requests == [] and not await Run.objects.aexists()


async def test_another_tenants_key_reads_no_conversation_by_the_ids_of_a_history(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    thread = str(uuid.uuid4())
    fake_provider.reply("Ours")
    async with http(uvicorn_server, cast) as client:
        await client.post(RUNS, json=run_input("Our secret", thread=thread))
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.globex, cast.mallory)}"}
    given = run_input("What was said?", thread=thread)
    given["messages"] = [*turns(5), *given["messages"]]
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers, timeout=60) as client:
        answer = await client.post(RUNS.replace("acme", "globex"), json=given)
    assert "Our secret" not in answer.text and "Ours" not in answer.text
