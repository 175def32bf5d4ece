"""Open chats are told which alarms of their member ring, and end them; nobody else is told or can."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.contrib.timed.models import Alarm
from assistant.contrib.timed.services.reminders.alarms import schedule_ring
from tests.agui import Frame
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, token_for
from tests.live import Server
from tests.ws import Socket, open_socket

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def set_alarm(tenant: Any, user: Any, number: int = 1) -> Alarm:
    at = timezone.now() - timedelta(seconds=1)
    row = Alarm.objects.create(tenant=tenant, user=user, number=number, at=at, label=f"{user} {number}")
    schedule_ring(row)
    return row


async def told(socket: Socket) -> list[str]:
    """Return the labels of the alarms that ring, by the next event."""
    return [alarm["label"] for alarm in (await event(socket))["ringing"]]


async def event(socket: Socket) -> Any:
    frame = await socket.until_custom("alarms", timeout=60.0)
    assert "metadata" not in frame
    return frame["value"]


async def do(socket: Socket, number: int, action: str, **fields: Any) -> None:
    await socket.send({"type": "alarm", "number": number, "action": action, **fields})


async def follow(socket: Socket) -> list[str]:
    await socket.send({"type": "alarms"})
    return await told(socket)


async def test_an_alarm_rings_in_every_chat_of_its_member_until_one_ends_it(uvicorn_server: Server, cast: Cast) -> None:
    url = uvicorn_server.url
    async with (
        open_socket(url, user=cast.alice) as one,
        open_socket(url, user=cast.alice) as two,
        open_socket(url, user=cast.amy) as amy,
        open_socket(url, user=cast.mallory, tenant="globex") as mallory,
    ):
        assert [await follow(socket) for socket in (one, two, amy, mallory)] == [[], [], [], []]
        await set_alarm(cast.acme, cast.alice)
        assert (await told(one), await told(two)) == (["alice 1"], ["alice 1"])
        await do(two, 1, "snooze", minutes=5)
        assert (await told(one), await told(two)) == ([], [])
        for stranger in (amy, mallory):
            await do(stranger, 1, "done")
            assert await told(stranger) == []
            assert not [frame for frame in stranger.frames if "alice" in str(frame)]
    row = await Alarm.objects.aget()
    assert row.state == "set" and row.at > timezone.now() + timedelta(minutes=4)


async def test_who_connects_later_is_told_what_rings(uvicorn_server: Server, cast: Cast) -> None:
    row = await set_alarm(cast.acme, cast.alice)
    async with open_socket(uvicorn_server.url, user=cast.alice) as first:
        while await follow(first) != ["alice 1"]:
            await asyncio.sleep(0.5)
        await do(first, 1, "seen")
    async with open_socket(uvicorn_server.url, user=cast.alice) as later:
        await later.send({"type": "alarms"})
        (found,) = (await event(later))["ringing"]
        assert found["number"] == 1 and found["rings"] == 1 and found["isLate"] is False
        await do(later, 1, "done")
        assert await told(later) == []
    await row.arefresh_from_db()
    assert row.state == "done" and row.seen_at is not None


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"number": "1", "action": "done"},
        {"number": 2**40, "action": "done"},
        {"number": 1, "action": "explode"},
        {"number": 1, "action": "snooze", "minutes": 0},
        {"number": 1, "action": "snooze", "minutes": True},
        {"number": 1, "action": ["done"]},
    ],
)
async def test_a_frame_that_is_not_understood_is_refused(uvicorn_server: Server, cast: Cast, frame: Frame) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send({"type": "alarm", **frame})
        assert (await socket.until_custom("protocol_error"))["value"]["code"] == "invalid_frame"


async def test_an_end_user_is_told_in_the_widget(uvicorn_server: Server, cast: Cast) -> None:
    token = await sync_to_async(visitor)(cast)
    async with open_socket(uvicorn_server.url, subprotocols=("agui.v1", f"bearer.{token}"), origin=SHOP) as widget:
        assert await follow(widget) == []
        user = await sync_to_async(lambda: cast.acme.end_users.get().user)()
        await set_alarm(cast.acme, user)
        assert len(await told(widget)) == 1


def visitor(cast: Cast) -> str:
    allow(cast.support)
    return token_for(Caller(cast.acme, cast.amy, scopes=["end_users"]), "c-1")


async def test_a_key_that_may_only_chat_is_told_nothing(uvicorn_server: Server, cast: Cast) -> None:
    key = (await sync_to_async(Caller)(cast.acme, cast.alice, scopes=["chat"])).key
    async with open_socket(uvicorn_server.url, key=key) as socket:
        await socket.send({"type": "alarms"})
        assert (await socket.until_custom("protocol_error"))["value"]["code"] == "forbidden"


@pytest.mark.services
async def test_every_process_tells_its_chats_and_it_rings_once(two_servers: tuple[Server, Server], cast: Cast) -> None:
    here, there = two_servers
    async with (
        open_socket(here.url, user=cast.alice) as one,
        open_socket(there.url, user=cast.alice) as two,
    ):
        assert (await follow(one), await follow(two)) == ([], [])
        await set_alarm(cast.acme, cast.alice)
        assert (await told(one), await told(two)) == (["alice 1"], ["alice 1"])
        await do(one, 1, "done")
        while await told(two):
            pass
    row = await Alarm.objects.aget()
    assert (row.rings, row.state) == (1, "done")


@pytest.mark.services
async def test_a_change_that_is_told_twice_is_one_event(uvicorn_server: Server, cast: Cast) -> None:
    """A process gets the message about its own changes back from Redis."""
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        assert await follow(socket) == []
        await set_alarm(cast.acme, cast.alice)
        assert await told(socket) == ["alice 1"]
        await asyncio.sleep(1.0)
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")
    assert len([frame for frame in socket.frames if frame.get("name") == "alarms"]) == 2
