"""Every kind of loss of access ends every open websocket and event stream."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from assistant.models import ApiKey, Membership, Provider, Run, Tenant
from assistant.services.connections import open_connections
from assistant.services.tenancy.members import create_api_key
from tests.api.test_event_streams import RUNS
from tests.base import Cast
from tests.fake_provider import FakeProvider, Gate
from tests.live import Server, serve
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, run_input, session_cookie

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

PATIENCE = 30
BY_SESSION = ("websocket by session", "SSE by session")
BY_KEY = ("websocket by key", "SSE by key", "/v1 by key", "MCP by key")
Waiting = Callable[[], Awaitable[object]]
# The sessions that are open in a test.
cookies: list[str] = []


def sign_out(cast: Cast) -> None:
    while cookies:
        browser = Client()
        name, _, value = cookies.pop().partition("=")
        browser.cookies[name] = value
        assert browser.post("/accounts/logout/").status_code == 302


def change_password(cast: Cast) -> None:
    cast.alice.set_password("another-horse-battery-staple")
    cast.alice.save()


def disable(cast: Cast) -> None:
    type(cast.alice).objects.filter(pk=cast.alice.pk).update(is_active=False)


# The ways to lose access, and which connections each must end.
LOSSES: dict[str, tuple[Callable[[Cast], object], tuple[str, ...]]] = {
    "session expired": (lambda cast: Session.objects.update(expire_date=timezone.now()), BY_SESSION),
    "logged out": (sign_out, BY_SESSION),
    "password changed": (change_password, BY_SESSION),
    "user disabled": (disable, (*BY_SESSION, *BY_KEY)),
    "member removed": (
        lambda cast: Membership.objects.filter(tenant=cast.acme, user=cast.alice).delete(),
        (*BY_SESSION, *BY_KEY),
    ),
    "tenant suspended": (
        lambda cast: Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False),
        (*BY_SESSION, *BY_KEY),
    ),
    "key revoked": (lambda cast: ApiKey.objects.update(revoked_at=timezone.now()), BY_KEY),
    "key expired": (lambda cast: ApiKey.objects.update(expires_at=timezone.now()), BY_KEY),
}


@pytest.fixture
def watched(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[Server]:
    """The site, or the application in ENDINGS_APPLICATION, with which `make resilience` shows that tests can fail."""
    application = os.environ.get("ENDINGS_APPLICATION")
    if application is None:
        yield request.getfixturevalue("uvicorn_server")
        return
    with serve(application=application) as server:
        yield server


@asynccontextmanager
async def everything_open(server: Server, cast: Cast) -> AsyncIterator[dict[str, Waiting]]:
    """Open websockets and streams of Alice; return for each a task that waits for its end."""
    cookie = await in_db(session_cookie)(cast.alice)
    cookies.append(cookie)
    key = (await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="streams"))[1]
    bearer = {"Authorization": f"Bearer {key}"}
    browser = {"Cookie": f"{cookie}; csrftoken={'c' * 32}", "X-CSRFToken": "c" * 32}
    completion = {"model": "support", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE + 10))

        async def socket(**options: Any) -> Waiting:
            opened = await stack.enter_async_context(open_socket(server.url, **options))
            await opened.send({"type": "ping"})
            await opened.until_custom("pong")
            return opened.closed

        async def stream(method: str, path: str, **options: Any) -> Waiting:
            answer = await stack.enter_async_context(http.stream(method, path, **options))
            assert answer.status_code == 200, await answer.aread()
            pieces = answer.aiter_text()
            if method == "POST":
                assert await anext(pieces)

            async def ended() -> None:
                async for _ in pieces:
                    pass

            return ended

        runs = RUNS.format(tenant="acme")
        yield {
            "websocket by session": await socket(headers={"Cookie": cookie}, origin=server.url),
            "websocket by key": await socket(key=key),
            "SSE by session": await stream("POST", runs, json=run_input("Hi"), headers=browser),
            "SSE by key": await stream("POST", runs, json=run_input("Hi"), headers=bearer),
            "/v1 by key": await stream("POST", "/v1/chat/completions", json=completion, headers=bearer),
            "MCP by key": await stream(
                "GET", "/mcp/", headers=bearer | {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
            ),
        }


async def until_no_run_goes_on() -> None:
    """Wait, because a run that is being stored would block emptying PostgreSQL's tables for the next test."""
    async with asyncio.timeout(PATIENCE):
        while await Run.objects.filter(status=Run.Status.RUNNING).aexists():
            await asyncio.sleep(0.05)


async def lose_access_and_wait(
    cast: Cast, loss: str, gate: Gate, *open_at: Mapping[str, Waiting]
) -> tuple[list[str], ...]:
    """Return the doors that stay open after a loss of access, and those that closed without one; print the seconds."""
    lose, who = LOSSES[loss]
    await in_db(lose)(cast)
    began = time.monotonic()
    tasks = {asyncio.create_task(wait()): door for doors in open_at for door, wait in doors.items()}
    waited = [task for task, door in tasks.items() if door in who]
    done, _ = await asyncio.wait(waited, timeout=PATIENCE)
    seconds = time.monotonic() - began
    still_open = [tasks[task] for task in waited if task not in done]
    out_for_no_reason = [door for task, door in tasks.items() if door not in who and task.done()]
    gate.release()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(f"\nending: {loss}: {len(done)} of {len(waited)} closed within {seconds:.2f} s")
    return still_open, out_for_no_reason


def paused_answers(fake_provider: FakeProvider, count: int = 3) -> Gate:
    """Answers that pause in the middle until the gate opens."""
    gate = fake_provider.gate()
    for _ in range(count):
        fake_provider.reply(chunks=["Hello ", gate, "there"])
    return gate


@pytest.mark.parametrize("loss", LOSSES)
async def test_everything_open_ends_after_a_loss_of_access(
    loss: str, watched: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = paused_answers(fake_provider)
    async with everything_open(watched, cast) as everything:
        found = await lose_access_and_wait(cast, loss, gate, everything)
    await until_no_run_goes_on()
    assert found == ([], [])


@pytest.mark.services
@pytest.mark.parametrize("loss", LOSSES)
async def test_everything_open_at_two_processes_ends(
    loss: str,
    two_servers: tuple[Server, Server],
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
) -> None:
    gate = paused_answers(fake_provider, 6)
    async with everything_open(two_servers[0], cast) as here, everything_open(two_servers[1], cast) as there:
        found = await lose_access_and_wait(cast, loss, gate, here, there)
    await until_no_run_goes_on()
    assert found == ([], [])


async def test_without_the_checks_nothing_ends(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    gate = paused_answers(fake_provider)
    with serve(application="tests.isolation.sites.forgetful_asgi:application") as server:
        async with everything_open(server, cast) as everything:
            # Only losses that do not cancel the runs.
            for loss in ("password changed", "key revoked"):
                await in_db(LOSSES[loss][0])(cast)
            tasks = [asyncio.create_task(everything[door]()) for door in ("websocket by session", "SSE by key")]
            done, _ = await asyncio.wait(tasks, timeout=2 * open_connections.CHECK_SECONDS)
            assert not done
            gate.release()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


REFUSED: dict[str, Callable[[Cast], object]] = {
    name: LOSSES[name][0]
    for name in ("user disabled", "member removed", "tenant suspended", "key revoked", "key expired")
}


@pytest.mark.parametrize("loss", REFUSED)
async def test_nothing_can_be_opened_after_a_loss_of_access(loss: str, uvicorn_server: Server, cast: Cast) -> None:
    key = (await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="streams"))[1]
    await in_db(REFUSED[loss])(cast)
    statuses = await _statuses(uvicorn_server, {"Authorization": f"Bearer {key}"})
    assert statuses == {"websocket": 403, "SSE": 401, "/v1": 401, "MCP": 401}


@pytest.mark.parametrize("loss", [name for name, (_, who) in LOSSES.items() if set(BY_SESSION) <= set(who)])
async def test_no_session_opens_anything_after_a_loss_of_access(loss: str, uvicorn_server: Server, cast: Cast) -> None:
    cookies[:] = [await in_db(session_cookie)(cast.alice)]
    own_page = {"Cookie": f"{cookies[0]}; csrftoken={'c' * 32}", "X-CSRFToken": "c" * 32, "Origin": uvicorn_server.url}
    await in_db(LOSSES[loss][0])(cast)
    statuses = await _statuses(uvicorn_server, own_page)
    assert statuses["websocket"] == 403 and statuses["SSE"] in {401, 404}, statuses
    assert statuses["/v1"] == statuses["MCP"] == 401


FOREIGN: dict[str, dict[str, str]] = {
    "no login": {},
    "a foreign origin": {"Origin": "https://evil.example"},
    "an opaque origin": {"Origin": "null"},
    "no origin": {},
}


@pytest.mark.parametrize("how", FOREIGN)
async def test_a_cookie_from_another_origin_opens_nothing(how: str, uvicorn_server: Server, cast: Cast) -> None:
    cookie = {} if how == "no login" else {"Cookie": await in_db(session_cookie)(cast.alice)}
    statuses = await _statuses(uvicorn_server, cookie | FOREIGN[how])
    assert set(statuses.values()) <= {401, 403} and statuses["websocket"] == 403, statuses


async def _statuses(server: Server, headers: dict[str, str]) -> dict[str, int]:
    completion = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x" * 22 + "==",
    }
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=PATIENCE) as http:
        answers = {
            "websocket": await http.get("/ws/acme/support/", headers=upgrade),
            "SSE": await http.post(RUNS.format(tenant="acme"), json=run_input("Hi")),
            "/v1": await http.post("/v1/chat/completions", json=completion),
            "MCP": await http.get("/mcp/", headers={"Accept": "text/event-stream"}),
        }
    return {door: answer.status_code for door, answer in answers.items()}
