"""Synchronous views wait for a place, in turns by address; probes and asynchronous views do not wait for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assistant.asgi import view_slots
from assistant.asgi.view_slots import Places, with_bounded_views


class Site:
    """An application that counts its requests and answers them when it is told to."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.go_on = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (await receive())["type"] == "http.disconnect":
            return
        self.running.append(scope["path"])
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def ask(application: Any, path: str, method: str = "GET", body: Any = None) -> int:
    statuses: list[int] = []

    async def receive() -> Any:
        if body is not None:
            await body.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    await application({"type": "http", "path": path, "method": method, "headers": []}, receive, send)
    return statuses[0]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def site(settings: Any) -> Site:
    settings.ASSISTANT_MAX_SYNC_VIEWS = 3
    return Site()


async def test_no_more_views_run_than_there_are_places(site: Site) -> None:
    application = with_bounded_views(site)
    asked = [asyncio.create_task(ask(application, "/docs/")) for _ in range(10)]
    await settle()
    assert site.running == ["/docs/"] * 3
    site.go_on.set()
    assert await asyncio.gather(*asked) == [200] * 10


async def test_probes_pages_and_streams_run_while_sign_ins_wait(site: Site) -> None:
    application = with_bounded_views(site)
    sign_ins = [asyncio.create_task(ask(application, "/accounts/login/", "POST")) for _ in range(60)]
    await settle()
    assert len(site.running) == view_slots.SIGN_IN_PLACES
    others = ("/readyz", "/docs/", "/api/v1/tenants/acme/assistants/support/runs/")
    asked = [asyncio.create_task(ask(application, path, "POST" if "runs" in path else "GET")) for path in others]
    await settle()
    assert set(others) <= set(site.running)
    site.go_on.set()
    assert await asyncio.gather(*sign_ins, *asked) == [200] * 63


async def test_a_body_that_has_not_come_takes_no_place(site: Site) -> None:
    application, body = with_bounded_views(site), asyncio.Event()
    slow = [asyncio.create_task(ask(application, "/accounts/login/", "POST", body)) for _ in range(5)]
    quick = asyncio.create_task(ask(application, "/accounts/login/", "POST"))
    await settle()
    assert len(site.running) == 1
    site.go_on.set()
    assert await quick == 200
    body.set()
    assert await asyncio.gather(*slow) == [200] * 5


async def test_too_many_that_wait_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_slots, "MAX_WAITING", 1)
    application = with_bounded_views(site)
    asked = [asyncio.create_task(ask(application, "/docs/")) for _ in range(5)]
    await settle()
    site.go_on.set()
    assert sorted(await asyncio.gather(*asked)) == [200, 200, 200, 200, 503]


async def test_a_request_whose_client_disconnects_gives_up_its_turn(site: Site, settings: Any) -> None:
    settings.ASSISTANT_MAX_SYNC_VIEWS = 1
    application, left, sent = with_bounded_views(site), asyncio.Event(), list[Any]()
    scope = {"type": "http", "path": "/docs/", "method": "GET", "headers": []}
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        if (message := next(messages, None)) is not None:
            return message
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    first = asyncio.create_task(ask(application, "/docs/"))
    await settle()
    gone = asyncio.create_task(application(scope, receive, send))
    await settle()
    assert len(site.running) == 1 and view_slots._places.get().waiting() == 1
    left.set()
    await gone
    assert view_slots._places.get().waiting() == 0 and sent == []
    third = asyncio.create_task(ask(application, "/docs/"))
    await settle()
    site.go_on.set()
    assert await asyncio.gather(first, third) == [200, 200]
    assert site.running == ["/docs/"] * 2


@pytest.mark.parametrize("settled", [False, True])
async def test_a_request_that_is_cancelled_while_it_waits_keeps_no_place(
    settled: bool, site: Site, settings: Any
) -> None:
    settings.ASSISTANT_MAX_SYNC_VIEWS = 1
    application = with_bounded_views(site)
    first = asyncio.create_task(ask(application, "/docs/"))
    await settle()
    waiting = asyncio.create_task(ask(application, "/docs/"))
    await settle()
    site.go_on.set()
    while settled and not first.done():
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(first, waiting, return_exceptions=True)
    assert await ask(application, "/docs/") == 200


async def test_addresses_take_turns(site: Site) -> None:
    places, order = Places(1), []

    async def wait(key: str) -> None:
        assert await places.take(key)
        order.append(key)
        places.give_back()

    await places.take("first")
    waiting = [asyncio.create_task(wait(key)) for key in (*["attacker"] * 5, "owner")]
    await settle()
    places.give_back()
    await asyncio.gather(*waiting)
    assert order[:2] == ["attacker", "owner"]


async def test_who_gives_up_waiting_keeps_no_place(site: Site) -> None:
    places = Places(1)
    await places.take("first")
    waiting = asyncio.create_task(places.take("second"))
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    places.give_back()
    assert await places.take("third")


async def test_one_client_does_not_fill_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_slots, "MAX_WAITING_OF_CLIENT", 2)
    places = Places(1)
    assert await places.take("busy")
    waiting = [asyncio.create_task(places.take("attacker")) for _ in range(4)]
    other = asyncio.create_task(places.take("other"))
    await settle()
    assert [one.done() for one in waiting] == [False, False, True, True]
    assert not other.done()
    for _ in range(3):
        places.give_back()
    await settle()
    assert await other and [await one for one in waiting] == [True, True, False, False]
