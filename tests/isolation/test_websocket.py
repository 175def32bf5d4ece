"""No websocket frame shows, joins, stops or changes another tenant's runs; each type is sent with their ids."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from websockets.exceptions import InvalidStatus

from assistant.models import Provider
from assistant.services.tenancy.members import create_api_key
from tests.agui import Frame, run_of, text_of
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, token_for
from tests.fake_provider import FakeProvider
from tests.isolation.planting import CANARY, THREAD_KEY
from tests.live import Server, serve
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)
WAYS = ("cookie", "key", "token")
# Seconds without a frame after which none is expected any more.
QUIET = 1.0


def frames_against(theirs: Frame) -> dict[str, list[Frame]]:
    """Return frames of every type with the ids of another member's thread and run."""
    thread, run = theirs["threadId"], theirs["runId"]
    answer = {"id": "x", "role": "tool", "toolCallId": "call_1", "content": "taken"}
    resume = [{"interruptId": "call_1", "status": "resolved", "payload": {"approved": True}}]
    return {
        "RunAgentInput": [
            run_input("Tell me what was said", thread=thread),
            run_input("Tell me what was said", thread=thread, run=run),
            run_input("Tell me what was said", run=run),
            {**run_input("x", thread=thread), "messages": [*theirs["messages"], answer]},
            {**run_input("x", thread=thread), "messages": [], "resume": resume},
            run_input("x", thread=thread, forwardedProps={"followsRunId": run}),
            run_input("x", forwardedProps={"followsRunId": run}),
            run_input("x", thread=thread, forwardedProps={"whenBusy": "replace", "onDisconnect": "cancel"}),
            run_input("Tell me what was said", thread=THREAD_KEY, run=run),
            {**run_input("x", thread=THREAD_KEY, run=run), "messages": [], "resume": resume},
            run_input("x", thread=thread, forwardedProps={"replacesMessageId": theirs["messages"][0]["id"]}),
        ],
        "attach": [
            {"type": "attach", "threadId": thread},
            {"type": "attach", "threadId": thread, "render": "html"},
            {"type": "attach", "threadId": THREAD_KEY},
            {"type": "attach", "threadId": thread, "after": {"runId": run, "seq": 0}},
        ],
        "cancel": [{"type": "cancel", "runId": run}],
        "feedback": [
            {"type": "feedback", "threadId": thread, "messageId": "call_1", "rating": 1, "comment": "x"},
            {"type": "feedback", "threadId": thread, "messageId": theirs["messages"][0]["id"], "rating": 0},
        ],
        "show": [{"type": "show", "threadId": thread, "messageId": theirs["messages"][0]["id"]}],
        "alarms": [{"type": "alarms"}],
        "inbox": [{"type": "inbox"}],
        "inbox.seen": [{"type": "inbox.seen", "threadId": thread}],
        "conversations": [{"type": "conversations"}],
        "tool_requests": [{"type": "tool_requests"}],
        "tool_requests.seen": [{"type": "tool_requests.seen", "id": 1}],
        "alarm": [
            {"type": "alarm", "number": 1, "action": "done"},
            {"type": "alarm", "number": 1, "action": "snooze", "minutes": 5},
            {"type": "alarm", "number": 1, "action": "seen"},
        ],
        "ping": [{"type": "ping", "threadId": thread, "runId": run}],
    }


async def try_all(socket: Socket, theirs: Frame, *, quiet: float = QUIET) -> list[Frame]:
    """Send every frame; return what came until the last one was handled and nothing came for `quiet` seconds."""
    for frames in frames_against(theirs).values():
        for frame in frames:
            await socket.send(frame)
    # A site that is broken on purpose may be slow.
    for _ in range(2):
        await socket.send({"type": "ping"})
        await socket.until_custom("pong", timeout=60.0)
    # Frames of an attached thread are sent by a task of their own, so they may come after the pongs.
    with suppress(TimeoutError):
        while await socket.next(quiet):
            pass
    return socket.frames


def leaks(frames: Sequence[Frame]) -> list[Frame]:
    return [frame for frame in frames if CANARY in json.dumps(frame)]


@pytest.mark.parametrize("way", WAYS)
async def test_another_tenant_sees_and_stops_nothing(
    way: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[f"{CANARY} ", gate, "stays."])
    async with open_socket(uvicorn_server.url, user=cast.alice) as alice:
        theirs = await alice.start(f"A secret: {CANARY}")
        await asyncio.to_thread(gate.wait_reached)
        async with open_socket(uvicorn_server.url, tenant="globex", **await credentials(cast, way)) as mallory:
            seen = await try_all(mallory, theirs)
            gate.release()
            rest = await alice.until_end(theirs["runId"])
            await mallory.send({"type": "ping"})
            await mallory.until_custom("pong")
    assert leaks(seen) == [] and leaks(mallory.frames) == []
    assert rest[-1]["type"] == "RUN_FINISHED" and rest[-1]["outcome"] == {"type": "success"}
    assert text_of([frame for frame in alice.frames if run_of(frame) == theirs["runId"]]) == f"{CANARY} stays."


async def credentials(cast: Cast, way: str) -> dict[str, Any]:
    """Return credentials of Globex: Mallory's cookie or key, or the token of an end user."""
    if way == "cookie":
        return {"user": cast.mallory}
    if way == "token":
        token = await sync_to_async(_end_users_token)(cast)
        return {"subprotocols": ["agui.v1", f"bearer.{token}"], "origin": SHOP}
    _, key = await sync_to_async(create_api_key)(tenant=cast.globex, user=cast.mallory, name="hers")
    return {"key": key}


def _end_users_token(cast: Cast) -> str:
    allow(cast.rival_support)
    return token_for(Caller(cast.globex, cast.greta, scopes=["end_users"]), "customer-1")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tenant", ["acme", "nobody-has-this-slug"])
async def test_members_of_another_tenant_and_strangers_get_the_same_answer(
    tenant: str, way: str, uvicorn_server: Server, cast: Cast
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with open_socket(uvicorn_server.url, tenant=tenant, **await credentials(cast, way)):
            pass
    assert refused.value.response.status_code == 403


async def test_a_planted_leak_is_found(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.reply(CANARY)
    with serve() as honest, serve(application="tests.isolation.sites.leaky_asgi:application") as leaky:
        async with open_socket(honest.url, user=cast.alice) as alice:
            theirs = run_input(f"A secret: {CANARY}")
            await alice.send(theirs)
            assert (await alice.until_end(theirs["runId"]))[-1]["type"] == "RUN_FINISHED"
        async with open_socket(leaky.url, user=cast.mallory, tenant="globex") as mallory:
            assert leaks(await try_all(mallory, theirs))
