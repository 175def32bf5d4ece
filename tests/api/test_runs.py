"""Runs without a stream, on a real server: start, wait, read, cancel, approve."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from assistant.models import Conversation, IdempotentAnswer, Provider, Run, ToolCall
from assistant.services.tenancy.api_keys import revoke_api_keys
from tests.api.calling import key_of
from tests.api.test_event_streams import events_of
from tests.base import Cast
from tests.factories import make_conversation, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db, until
from tests.ws import run_input

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def alice_at(server: Server, cast: Cast, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    key = await in_db(key_of)(cast.acme, cast.alice, **options)
    base = f"{server.url}/api/v1/tenants/acme/"
    async with httpx2.AsyncClient(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        yield client


async def asked_again(client: httpx2.AsyncClient, path: str, **request: Any) -> httpx2.Response:
    """Repeat a request until it is answered: the server may not have noticed yet that the first client disconnected."""
    async with asyncio.timeout(30):
        while True:
            answer = await client.post(path, **request)
            if answer.json().get("code") != "idempotency_conflict":
                return answer
            await asyncio.sleep(0.05)


@pytest.fixture
def talk(cast: Cast, provider: Provider) -> Conversation:
    return make_conversation(cast.alice, cast.support, title="Talk")


async def test_a_run_is_answered_when_it_has_ended(
    server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Thirty days.")
    async with alice_at(server, cast) as client:
        answer = await client.post(f"conversations/{talk.pk}/runs/", json={"message": "How long?"})
        run = answer.json()
        assert (answer.status_code, run["status"], run["text"]) == (201, "finished", "Thirty days.")
        assert [one["role"] for one in run["messages"]] == ["user", "assistant"]
        assert (await client.get(f"runs/{run['id']}/")).json() == run


async def test_a_run_that_is_not_waited_for_is_fetched_later_and_cancelled(
    server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Thirty", gate, " days."])
    async with alice_at(server, cast) as client:
        started = await client.post(f"conversations/{talk.pk}/runs/", json={"message": "How long?", "wait": False})
        run = f"runs/{started.json()['id']}/"
        assert (started.status_code, started.json()["status"]) == (202, "running")
        await asyncio.to_thread(gate.wait_reached)
        busy = await client.post(f"conversations/{talk.pk}/runs/", json={"message": "And now?"})
        assert (busy.status_code, busy.json()["code"]) == (409, "thread_busy")
        assert (await client.delete(f"conversations/{talk.pk}/")).status_code == 409
        assert (await client.post(f"{run}cancel/")).status_code == 202
        await until(lambda: Run.objects.filter(status=Run.Status.CANCELLED).exists())
        assert (await client.get(run)).json()["status"] == "cancelled"


async def test_a_repeated_request_after_a_disconnect_joins_the_same_run(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Thirty", gate, " days."])
    body, headers = {"message": "How long?"}, {"Idempotency-Key": "question-1"}
    async with alice_at(uvicorn_server, cast) as client:
        asking = asyncio.create_task(client.post(f"conversations/{talk.pk}/runs/", json=body, headers=headers))
        await asyncio.to_thread(gate.wait_reached)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        gate.release()
        await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())

        answer = await asked_again(client, f"conversations/{talk.pk}/runs/", json=body, headers=headers)
    assert (answer.status_code, answer.json()["text"]) == (201, "Thirty days.")
    assert await in_db(Run.objects.count)() == 1


async def test_a_waiting_call_is_approved(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42.")
    async with alice_at(uvicorn_server, cast) as client:
        asked = (await client.post(f"conversations/{talk.pk}/runs/", json={"message": "6*7?"})).json()
        assert asked["status"] == "waiting"
        (waiting,) = (await client.get("approvals/")).json()
        assert (waiting["tool"], waiting["run"]) == ("calculate", asked["id"])
        address = f"runs/{asked['id']}/approvals/"
        other = await client.post(address, json={"decisions": [{"call_id": "other", "approved": True}]})
        assert other.status_code == 409
        decision = {"call_id": waiting["call_id"], "approved": True}
        gone_on = await client.post(address, json={"decisions": [decision]})
        assert (gone_on.status_code, gone_on.json()["text"]) == (201, "42.")
        assert (await client.get("approvals/")).json() == []
        assert (await client.post(address, json={"decisions": [decision]})).status_code == 409


async def test_an_invalid_decision_is_refused_and_nothing_runs(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("So it is 41.")
    async with alice_at(uvicorn_server, cast) as client:
        asked = (await client.post(f"conversations/{talk.pk}/runs/", json={"message": "6*7?"})).json()
        address = f"runs/{asked['id']}/approvals/"
        decision = {"call_id": asked["approvals"][0]["call_id"], "approved": True}
        for wrong, field in (
            ({"editedArgs": {"expression": "1+1"}}, "editedArgs"),
            ({"approved": False, "response": "41"}, "response"),
        ):
            refused = await client.post(address, json={"decisions": [{**decision, **wrong}]})
            assert (refused.status_code, list(refused.json()["fields"])) == (400, [f"decisions.0.{field}"])
        misfit = {**decision, "edited_arguments": {"expression": 7, "base": 2}}
        refused = await client.post(address, json={"decisions": [misfit]})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
        assert "expression" in refused.json()["message"] and "base" in refused.json()["message"]
        assert await ToolCall.objects.filter(status=ToolCall.Status.AWAITING_APPROVAL).acount() == 1

        gone_on = await client.post(address, json={"decisions": [{**decision, "response": "41"}]})
    assert (gone_on.status_code, gone_on.json()["text"]) == (201, "So it is 41.")
    told = fake_provider.requests[-1].json["messages"][-1]
    assert (told["role"], "41" in told["content"], "42" in told["content"]) == ("tool", True, False)


async def test_what_is_wrong_with_a_run_or_an_approval_is_named_by_its_field(
    uvicorn_server: Server, cast: Cast, talk: Conversation
) -> None:
    twice = {"decisions": [{"call_id": "call_1", "approved": said} for said in (True, False)]}
    async with alice_at(uvicorn_server, cast) as client:
        empty = await client.post(f"conversations/{talk.pk}/runs/", json={"message": "   "})
        assert (empty.status_code, empty.json()["fields"]) == (400, {"message": ["A message must not be empty."]})
        answer = await client.post("runs/run-1/approvals/", json=twice)
        assert answer.status_code == 400
        assert answer.json()["fields"] == {"decisions.1.call_id": ["This call has two decisions."]}


async def test_an_approval_repeated_after_a_disconnect_joins_its_run(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    gate = fake_provider.gate()
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply(chunks=["4", gate, "2."])
    async with alice_at(uvicorn_server, cast) as client:
        asked = (await client.post(f"conversations/{talk.pk}/runs/", json={"message": "6*7?"})).json()
        address = f"runs/{asked['id']}/approvals/"
        decision = {"call_id": asked["approvals"][0]["call_id"], "approved": True}
        request: dict[str, Any] = {"json": {"decisions": [decision]}, "headers": {"Idempotency-Key": "answer-1"}}
        answering = asyncio.create_task(client.post(address, **request))
        await asyncio.to_thread(gate.wait_reached)
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        gate.release()
        answer = await asked_again(client, address, **request)
    assert (answer.status_code, answer.json()["text"]) == (201, "42.")


async def test_a_request_repeated_after_a_crash_finds_its_run(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Thirty days.")
    request: dict[str, Any] = {"json": {"message": "How long?"}, "headers": {"Idempotency-Key": "question-1"}}
    async with alice_at(uvicorn_server, cast) as client:
        await client.post(f"conversations/{talk.pk}/runs/", **request)
        # What a process that dies before it answers leaves: a running run, or one ended by another process.
        await in_db(IdempotentAnswer.objects.update)(status=None, body=None)
        await in_db(Run.objects.update)(status=Run.Status.RUNNING, lease_until=timezone.now() + timedelta(minutes=1))
        waits = await client.post(f"conversations/{talk.pk}/runs/", **request)
        assert (waits.status_code, waits.json()["code"]) == (409, "idempotency_conflict")
        await in_db(Run.objects.update)(status=Run.Status.INTERRUPTED)
        answer = await client.post(f"conversations/{talk.pk}/runs/", **request)
    assert (answer.status_code, answer.json()["status"]) == (201, "interrupted")
    assert await in_db(Run.objects.count)() == 1


async def test_a_waiting_request_ends_when_its_key_is_revoked(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Thirty", gate, " days."])
    async with alice_at(uvicorn_server, cast) as client:
        asking = asyncio.create_task(client.post(f"conversations/{talk.pk}/runs/", json={"message": "How long?"}))
        await asyncio.to_thread(gate.wait_reached)
        await in_db(lambda: revoke_api_keys(keys=cast.acme.api_keys.all(), actor=None))()
        answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    gate.release()
    await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())


async def test_other_users_cannot_read_stop_or_answer_a_run(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hi")
    async with alice_at(uvicorn_server, cast) as client:
        run = (await client.post(f"conversations/{talk.pk}/runs/", json={"message": "Hi"})).json()["id"]
    for tenant, user in ((cast.acme, cast.amy), (cast.globex, cast.mallory)):
        headers = {"Authorization": f"Bearer {await in_db(key_of)(tenant, user)}"}
        base = f"{uvicorn_server.url}/api/v1/tenants/{tenant.slug}/"
        async with httpx2.AsyncClient(base_url=base, headers=headers) as client:
            decisions = {"decisions": [{"call_id": "x", "approved": True}]}
            assert (await client.get(f"runs/{run}/")).status_code == 404
            assert (await client.post(f"runs/{run}/cancel/")).status_code == 404
            assert (await client.post(f"runs/{run}/approvals/", json=decisions)).status_code == 404
            assert (await client.post(f"conversations/{talk.pk}/runs/", json={"message": "x"})).status_code == 404


async def test_a_failed_run_says_so(
    uvicorn_server: Server, cast: Cast, talk: Conversation, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(401)
    async with alice_at(uvicorn_server, cast) as client:
        run = (await client.post(f"conversations/{talk.pk}/runs/", json={"message": "Hi"})).json()
    assert (run["status"], run["error_code"]) == ("failed", "provider_error")


async def test_a_stream_ends_when_its_key_is_revoked(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    given = run_input("Hi", thread=str(uuid.uuid4()))
    async with alice_at(uvicorn_server, cast) as client:
        async with client.stream("POST", "assistants/support/runs/", json=given) as answer:
            pieces = answer.aiter_text()
            seen = await anext(pieces)
            await in_db(lambda: revoke_api_keys(keys=cast.acme.api_keys.all(), actor=None))()
            async with asyncio.timeout(20):
                async for piece in pieces:
                    seen += piece
        assert "RUN_FINISHED" not in seen and "RUN_ERROR" not in seen and events_of(seen)
        gone = await client.get(f"runs/{given['runId']}/events/")
        assert gone.status_code == 401
    gate.release()
    await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())
