"""Results that come over HTTP have runs go on in servers: with a client that follows, without one, after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import token_of
from assistant.models import Provider, Run, ToolCall
from assistant.services.run_key import key_of
from tests.agui import text_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import in_db, until
from tests.ws import Socket, open_socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
SETTINGS = {"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}


@pytest.fixture
async def server(cast: Cast, provider: Provider) -> AsyncIterator[Server]:
    with serve(env=SETTINGS) as running:
        yield running


async def token_that_waits() -> str:
    call = await PendingCall.objects.select_related("call__run__conversation").aget()
    assert call.call.run is not None
    return token_of(key_of(call.call.run, ""), call.call.call_id)


async def post(server: Server, token: str, body: Any, *, tenant: str = "acme") -> tuple[int, str]:
    """Return the status and the error code of the response."""
    async with httpx2.AsyncClient(base_url=server.url) as client:
        answer = await client.post(f"/api/v1/tenants/{tenant}/pending/{token}/", json=body)
        return answer.status_code, answer.json()["code"] if answer.content else ""


async def wait_outside(socket: Socket, fake_provider: FakeProvider) -> list[dict[str, Any]]:
    fake_provider.call("ask_outside", {})
    frames: list[dict[str, Any]] = await socket.ask("Ask outside")
    return frames


async def test_who_follows_sees_it_go_on(server: Server, cast: Cast, fake_provider: FakeProvider) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await wait_outside(socket, fake_provider)
        (interrupt,) = frames[-1]["outcome"]["interrupts"]
        assert interrupt["message"] == "“Ask outside” waits for somebody outside."
        assert not [frame for frame in frames if frame.get("name") == "tool.finished"]
        fake_provider.reply("They say yes.")
        token = await token_that_waits()
        assert await post(server, token, {"result": {"yes": True}}) == (202, "")
        later = await socket.until_end()
        assert text_of(later) == "They say yes."
        finished = next(frame for frame in later if frame.get("name") == "tool.finished")
        assert (finished["value"]["status"], finished["value"]["title"]) == ("ok", "Ask outside")
        await socket.attach(frames[0]["threadId"])
        assert text_of(await socket.until_end()) == "" and socket.frames[-1]["outcome"] == {"type": "success"}
    assert await post(server, token, {"result": 1}) == (409, "already_answered")
    assert (await ToolCall.objects.aget()).result == '{"yes":true}'
    async with httpx2.AsyncClient(base_url=server.url) as client:
        assert (await client.get(f"/api/v1/tenants/acme/pending/{token}/")).status_code == 405
    assert "/pending/***/" in server.log and token not in server.log


async def test_nobody_has_to_follow_and_a_reload_shows_that_it_waits(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread = (await wait_outside(socket, fake_provider))[0]["threadId"]
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.attach(thread)
        (interrupt,) = (await socket.until_end())[-1]["outcome"]["interrupts"]
        assert interrupt["reason"] == "tool_pending" and interrupt["expiresAt"]
    assert await post(server, await token_that_waits(), {"error": "They are closed."}) == (202, "")
    await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.ERROR


async def test_another_process_goes_on_after_a_restart(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    with serve(env=SETTINGS) as doomed:
        async with open_socket(doomed.url, user=cast.alice) as socket:
            await wait_outside(socket, fake_provider)
        doomed.kill()
    token = await token_that_waits()
    with serve(env=SETTINGS) as heir:
        fake_provider.reply("They say yes.")
        assert await post(heir, token, {"result": "yes"}) == (202, "")
        await until(lambda: Run.objects.filter(number=2, status=Run.Status.FINISHED).exists())
    assert await Run.objects.acount() == 2 and len(fake_provider.requests) == 2


async def test_a_cancel_frame_stops_the_wait_everywhere(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket, open_socket(server.url, user=cast.alice) as other:
        frames = await wait_outside(socket, fake_provider)
        await other.attach(frames[0]["threadId"])
        await other.until_end()
        await socket.send({"type": "cancel", "runId": frames[0]["runId"]})
        for one in (socket, other):
            assert (await one.until_end())[-1]["outcome"] == {"type": "cancelled"}
    assert await post(server, await token_that_waits(), {"result": 1}) == (410, "wait_over")
    assert (await Run.objects.aget()).status == Run.Status.CANCELLED


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_input"),
        ([], 400, "invalid_input"),
        ({"result": 1, "error": "both"}, 400, "invalid_input"),
        ({"error": {"no": "text"}}, 400, "invalid_input"),
        ({"error": " "}, 400, "invalid_input"),
        ({"result": "a\x00b"}, 400, "invalid_input"),
        ({"result": "x" * 300_000}, 413, "too_large"),
    ],
)
async def test_what_is_no_result_is_refused(
    uvicorn_server: Server, cast: Cast, body: Any, status: int, code: str
) -> None:
    assert await post(uvicorn_server, "wait_x", body) == (status, code)


async def test_a_token_of_one_tenant_is_unknown_at_the_other(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        await wait_outside(socket, fake_provider)
    token = await token_that_waits()
    assert await post(server, token, {"result": 1}, tenant="globex") == (404, "not_found")
    assert await post(server, f"{token}x", {"result": 1}) == (404, "not_found")
    assert await in_db(PendingCall.objects.filter(state="waiting").count)() == 1
