"""AG-UI over server-sent events: the same events as on the websocket, resumable."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from ag_ui_validate.pytest_plugin import assert_valid_agui
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.test import AsyncClient
from django.utils import timezone

from assistant.models import Provider, Run, TenantLimits
from assistant.routing import with_assistant
from assistant.services.connections import open_connections
from assistant.services.connections.open_connections import OpenConnection
from assistant.services.tenancy.members import create_api_key, find_member
from tests.agui import Frame, check_run, text_of
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db, until
from tests.ws import PATIENCE, open_socket, run_input, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "/api/v1/tenants/{tenant}/assistants/support/runs/"


@asynccontextmanager
async def http(server: Server, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=20) as client:
        yield client


async def bearer(cast: Cast, **options: Any) -> dict[str, str]:
    _, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="test", **options)
    return {"Authorization": f"Bearer {key}"}


async def silent_run(cast: Cast) -> str:
    """Return the URL of the events of a run that sends none."""
    conversation = await in_db(make_conversation)(cast.alice, cast.support)
    held = {"lease_owner": "elsewhere", "lease_until": timezone.now() + timedelta(minutes=1)}
    run = await in_db(make_run)(conversation, status=Run.Status.RUNNING, **held)
    return f"/api/v1/tenants/acme/runs/{run.run_id}/events/"


async def limit_connections(cast: Cast, number: int) -> None:
    await TenantLimits.objects.acreate(tenant=cast.acme, member_connections=number)


def events_of(text: str) -> list[tuple[int, Frame]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]), json.loads(lines["data"])))
    return found


async def test_a_run_streams_as_events(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello there")
    async with http(server, **await bearer(cast)) as client:
        answer = await client.post(RUNS.format(tenant="acme"), json=run_input("Hi"))
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    check_run([frame for _, frame in events])
    assert text_of([frame for _, frame in events]) == "Hello there"
    assert [number for number, _ in events] == list(range(1, len(events) + 1))


async def test_a_disconnected_client_resumes_and_the_run_continues(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    given, seen = run_input("Hi"), ""
    async with http(server, **await bearer(cast)) as client:
        async with client.stream("POST", RUNS.format(tenant="acme"), json=given) as answer:
            async for piece in answer.aiter_text():
                seen += piece
                if "TEXT_MESSAGE_CONTENT" in seen and seen.endswith("\n\n"):
                    break
        gate.release()
        await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())
        last = events_of(seen)[-1][0]
        address = f"/api/v1/tenants/acme/runs/{given['runId']}/events/"
        rest = await client.get(address, headers={"Last-Event-ID": str(last)})
    whole = [frame for _, frame in events_of(seen) + events_of(rest.text)]
    check_run(whole)
    assert text_of(whole) == "Hello"


async def test_resuming_after_the_end_is_answered_with_204(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello")
    given = run_input("Hi")
    async with http(uvicorn_server, **await bearer(cast)) as client:
        seen = await client.post(RUNS.format(tenant="acme"), json=given)
        address = f"/api/v1/tenants/acme/runs/{given['runId']}/events/"
        for last in (events_of(seen.text)[-1][0], 999):
            answer = await client.get(address, headers={"Last-Event-ID": str(last)})
            # An EventSource does not reconnect after this status.
            assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("last", ["seven", "-1", "1.5", str(2**31), "9" * 5000])
async def test_a_position_that_no_event_has_is_a_400(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, last: str
) -> None:
    fake_provider.reply("Hello")
    given = run_input("Hi")
    async with http(uvicorn_server, **await bearer(cast)) as client:
        address = RUNS.format(tenant="acme")
        refused = await client.post(address, json=given, headers={"Last-Event-ID": last})
        assert not await Run.objects.aexists()
        await client.post(address, json=given)
        answer = await client.get(
            f"/api/v1/tenants/acme/runs/{given['runId']}/events/", headers={"Last-Event-ID": last}
        )
    for one in (refused, answer):
        assert (one.status_code, list(one.json()["fields"])) == (400, ["Last-Event-ID"])


async def test_a_repeated_idempotency_key_joins_its_run_and_with_another_body_is_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello")
    given, address = run_input("Hi"), RUNS.format(tenant="acme")
    async with http(uvicorn_server, **await bearer(cast), **{"Idempotency-Key": "k"}) as client:
        refused = await client.post(address, json={**given, "threadId": ""})
        first = await client.post(address, json=given)
        again = await client.post(address, json=given)
        other = await client.post(address, json={**given, "runId": "another"})
    assert events_of(refused.text)[-1][1]["code"] == "invalid_input"  # nothing was done: the key is free
    assert events_of(again.text) == events_of(first.text)
    assert (first.headers.get("Idempotent-Replayed"), again.headers["Idempotent-Replayed"]) == (None, "true")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert await Run.objects.acount() == 1


async def test_a_run_whose_events_expired_is_sent_as_a_snapshot(uvicorn_server: Server, cast: Cast) -> None:
    run = await in_db(make_run)(await in_db(make_conversation)(cast.alice, cast.support), checkpoint_seq=7)
    end = {"type": "RUN_FINISHED", "threadId": str(run.conversation_id), "runId": run.run_id}
    await Run.objects.filter(pk=run.pk).aupdate(ending=end)
    async with http(uvicorn_server, **await bearer(cast)) as client:
        text = (
            await client.get(f"/api/v1/tenants/acme/runs/{run.run_id}/events/", headers={"Last-Event-ID": "3"})
        ).text
    frames = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
    assert [frame["type"] for frame in frames] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    # A client that disconnects before the snapshot's end gets all of it again.
    assert [line for line in text.splitlines() if line.startswith("id:")] == ["id: 7"]


async def test_a_refused_run_is_a_run_error(uvicorn_server: Server, cast: Cast, provider: Provider) -> None:
    async with http(uvicorn_server, **await bearer(cast)) as client:
        answer = await client.post(RUNS.format(tenant="acme"), json=run_input("Hi", run="x" * 201))
    start, error = [frame for _, frame in events_of(answer.text)]
    assert (start["type"], error["type"], error["code"]) == ("RUN_STARTED", "RUN_ERROR", "invalid_input")
    assert_valid_agui([start, error], max_warnings=0)


@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"x": NaN}', "[" * 50_000, '"\\ud800"', '{"x": "\\u0000"}', '{"\\ud800": 1}']
)
async def test_a_hostile_body_is_a_400(uvicorn_server: Server, cast: Cast, body: str) -> None:
    async with http(uvicorn_server, **await bearer(cast)) as client:
        answer = await client.post(RUNS.format(tenant="acme"), content=body.encode())
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_input"


async def test_access_errors_reveal_nothing(uvicorn_server: Server, cast: Cast) -> None:
    async with http(uvicorn_server) as client:
        assert (await client.post(RUNS.format(tenant="acme"), json={})).status_code == 401
    async with http(uvicorn_server, **await bearer(cast)) as client:
        foreign = await client.post(RUNS.format(tenant="globex"), json={})
        absent = await client.post(RUNS.format(tenant="nobody"), json={})
        assert (foreign.status_code, foreign.text) == (404, absent.text)
    async with http(uvicorn_server, **await bearer(cast, scopes=["read"])) as client:
        assert (await client.post(RUNS.format(tenant="acme"), json={})).status_code == 403


async def test_a_session_needs_its_csrf_token(uvicorn_server: Server, cast: Cast) -> None:
    cookie = await in_db(session_cookie)(cast.alice)
    async with http(uvicorn_server, Cookie=cookie) as client:
        assert (await client.post(RUNS.format(tenant="acme"), json={})).status_code == 403


async def test_another_members_run_is_not_found(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    given = run_input("Hi")
    async with http(uvicorn_server, **await bearer(cast)) as client:
        await client.post(RUNS.format(tenant="acme"), json=given)
    _, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.amy, name="amy")
    async with http(uvicorn_server, Authorization=f"Bearer {key}") as client:
        answer = await client.get(f"/api/v1/tenants/acme/runs/{given['runId']}/events/")
    assert answer.status_code == 404


async def test_resuming_respects_the_protocol_version(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    given = run_input("Hi")
    async with http(uvicorn_server, **await bearer(cast)) as client:
        run = f"/api/v1/tenants/acme/runs/{given['runId']}/"
        asking = asyncio.create_task(client.post(RUNS.format(tenant="acme"), json=given))
        await asyncio.to_thread(gate.wait_reached)
        assert (await client.post(f"{run}cancel/")).status_code == 202
        await asking
        ends = [
            events_of((await client.get(f"{run}events/", params=params)).text)[-1][1]
            for params in ({}, {"protocolVersion": "1.0"})
        ]
        assert [end.get("outcome") for end in ends] == [None, {"type": "cancelled"}]
        assert (await client.get(f"{run}events/", params={"protocol": "1.0"})).status_code == 400
    gate.release()


async def test_a_body_of_any_size_is_refused_or_accepted(uvicorn_server: Server, cast: Cast) -> None:
    async with http(uvicorn_server, **await bearer(cast)) as client:
        state = {"state": "x" * 300_000, "messages": []}
        for content in (json.dumps(state).encode(), b" " * (settings.ASSISTANT_MAX_UPLOAD_BYTES + 1)):
            answer = await client.post(RUNS.format(tenant="acme"), content=content)
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_a_chunked_body_is_accepted(uvicorn_server: Server, cast: Cast) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"assistant": "support", '
        yield b'"title": "In chunks"}'

    headers = {**await bearer(cast), "Content-Type": "application/json"}
    async with http(uvicorn_server, **headers) as client:
        answer = await client.post("/api/v1/tenants/acme/conversations/", content=chunks())
    assert (answer.status_code, answer.json()["title"]) == (201, "In chunks")


async def test_a_form_body_is_refused(uvicorn_server: Server, cast: Cast) -> None:
    cookies = f"{await in_db(session_cookie)(cast.alice)}; csrftoken={'c' * 32}"
    headers = {"Cookie": cookies, "Content-Type": "multipart/form-data"}
    async with http(uvicorn_server, **headers) as client:
        for path in (RUNS.format(tenant="acme"), "/api/v1/tenants/acme/conversations/"):
            assert (await client.post(path, content=b"--x garbage")).status_code == 403


async def test_one_stream_too_many_is_refused_until_another_ends(
    uvicorn_server: Server, cast: Cast, provider: Provider
) -> None:
    await limit_connections(cast, 2)
    address = await silent_run(cast)
    async with http(uvicorn_server, **await bearer(cast)) as client, AsyncExitStack() as streams:
        for _ in range(2):
            assert (await streams.enter_async_context(client.stream("GET", address))).status_code == 200
        for method, path, body in (("GET", address, None), ("POST", RUNS.format(tenant="acme"), run_input("Hi"))):
            async with client.stream(method, path, json=body) as refused:
                assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 0
                told = json.loads(await refused.aread())
            assert told["code"] == "too_many_requests" and "you may have 2 open" in told["message"]
        assert await Run.objects.acount() == 1  # the one that was refused is not begun
        await streams.aclose()
        await until_accepted(client, address)


async def until_accepted(client: httpx2.AsyncClient, address: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            async with client.stream("GET", address) as answer:
                if answer.status_code == 200:
                    return


async def test_a_stream_and_a_websocket_share_one_limit(uvicorn_server: Server, cast: Cast) -> None:
    await limit_connections(cast, 1)
    address, headers = await silent_run(cast), await bearer(cast)
    async with http(uvicorn_server, **headers) as client, client.stream("GET", address) as answer:
        assert answer.status_code == 200
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            assert await socket.closed() == 4429


async def test_a_full_process_refuses_streams(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ASSISTANT_MAX_CONNECTIONS", 1)
    address, headers = await silent_run(cast), await bearer(cast)
    member = await in_db(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    other = OpenConnection(member, close=lambda: None)
    open_connections.register(other)
    assert (await AsyncClient().get(address, headers=headers)).status_code == 429
    open_connections.unregister(other)
    assert await go_while_answered(address, headers) == 200


async def test_refused_runs_and_unread_streams_release_their_slot(cast: Cast, provider: Provider) -> None:
    await limit_connections(cast, 1)
    address, headers = await silent_run(cast), await bearer(cast)
    body = json.dumps(run_input("Hi", run="x" * 201))
    refused = await AsyncClient().post(RUNS.format(tenant="acme"), body, "application/json", headers=headers)
    assert refused.status_code == 200
    gc.disable()
    try:
        for _ in range(3):
            assert await go_while_answered(address, headers) == 200
    finally:
        gc.enable()


async def go_while_answered(path: str, headers: dict[str, str]) -> int:
    """Disconnect when the response starts, and return its status."""
    incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    incoming.put_nowait({"type": "http.request"})
    statuses: list[int] = []

    async def send(message: Mapping[str, Any]) -> None:
        statuses.append(message["status"])
        incoming.put_nowait({"type": "http.disconnect"})
        await asyncio.Event().wait()

    sent = [(name.lower().encode(), value.encode()) for name, value in {"host": "testserver", **headers}.items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": sent}
    await with_assistant(get_asgi_application())(scope, incoming.get, send)
    return statuses[0]


def test_a_synchronous_client_gets_the_whole_run(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["Hel", "lo"])
    acme = Caller(cast.acme, cast.alice)
    answer = acme("post", "assistants/support/runs/", run_input("Hi"))
    assert answer["Content-Type"] == "text/event-stream"
    frames = [frame for _, frame in events_of(b"".join(answer).decode())]
    check_run(frames)
    assert text_of(frames) == "Hello" and frames[-1]["type"] == "RUN_FINISHED"
    assert b"Hello" in b"".join(acme.get(f"runs/{frames[0]['runId']}/events/"))
