"""The websocket API, on live servers, with a provider over HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from assistant.models import ApiKey, Membership, Message, Provider, Run, Tenant, ToolCall
from assistant.services.limits import rate_limits
from assistant.services.tenancy.members import create_api_key, find_member
from assistant.services.token_bucket import Buckets
from assistant.websocket.consumer import ChatConsumer
from assistant.websocket.follower import FollowedThreads
from assistant.websocket.later_runs import LaterRuns
from config.asgi import application
from tests.agui import Frame, check_frame, check_run, custom_name, numbered, run_of, seq_of, text_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket, run_input, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)

in_db = sync_to_async


async def until(look: Callable[[], Any], timeout: float = 20.0) -> Any:
    """What `look` (run in a thread) returns once it is true."""
    async with asyncio.timeout(timeout):
        while not (found := await in_db(look)()):
            await asyncio.sleep(0.05)
    return found


async def test_an_answer_streams_and_is_stored(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply(chunks=["Hel", "lo"])
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi")
    assert text_of(frames) == "Hello"
    run = await Run.objects.aget()
    assert (run.status, run.tenant_id, run.model) == (Run.Status.FINISHED, cast.acme.pk, provider.default_model)
    stored = [m async for m in Message.objects.order_by("position").values_list("role", "content", "is_partial")]
    assert stored == [("user", "Hi", False), ("assistant", "Hello", False)]


async def test_the_prompt_and_history_reach_the_provider(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    thread = str(uuid.uuid4())
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.ask("One", thread=thread)
        await socket.ask("Two", thread=thread)
    sent = fake_provider.requests[-1].json["messages"]
    assert sent[0] == {"role": "system", "content": "You are Acme's support assistant."}
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]


async def test_a_tool_runs_with_the_tenants_context(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    fake_provider.reply("It is late.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("What time is it?")
    result = next(frame for frame in frames if frame["type"] == "TOOL_CALL_RESULT")
    assert "Europe/Vienna" in result["content"]
    call = await ToolCall.objects.aget()
    assert (call.name, call.status, call.tenant_id) == ("current_time", ToolCall.Status.OK, cast.acme.pk)


async def test_a_tool_switched_off_in_mid_run_is_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    gate = fake_provider.gate()
    fake_provider.queue(_gated_call(gate))
    fake_provider.reply("I cannot tell.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.start("What time is it?")
        await until(lambda: fake_provider.requests)
        await in_db(switch_tool)(cast.acme, "current_time", policy="off")
        gate.release()
        await socket.until_end()
    call = await ToolCall.objects.aget()
    assert call.status == ToolCall.Status.REFUSED
    assert "off" in call.rule.lower()


def _gated_call(gate: Any) -> Any:
    from tests.fake_answers import reply

    return reply(chunks=[gate, "Let me look."], calls=[("current_time", {})])


async def test_cancel_stops_the_provider_and_keeps_the_partial_answer(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with open_socket(server.url, user=cast.alice) as socket:
        started = await socket.start("Tell me a story")
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        await socket.cancel(started["runId"])
        frames = await socket.until_end()
        assert frames[-1]["outcome"] == {"type": "cancelled"}
        check_run(socket.frames)
        assert text_of(await socket.ask("Go on", thread=started["threadId"]))
    partial = await Message.objects.aget(is_partial=True)
    assert partial.content == "Once upon"
    assert fake_provider.requests[0].disconnected.is_set()


async def test_a_client_that_named_no_version_gets_no_outcome(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate])
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frame = run_input("Tell me a story")
        del frame["protocolVersion"]
        await socket.send(frame)
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        await socket.cancel(frame["runId"])
        assert "outcome" not in (await socket.until_end())[-1]


async def test_a_lost_connection_stops_nothing_and_attach_catches_up(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with open_socket(server.url, user=cast.alice) as socket:
        started = await socket.start("Hi")
        seen = [*socket.frames, *await socket.until_type("TEXT_MESSAGE_CONTENT")]
        await socket.drop()
    gate.release()
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.attach(started["threadId"], after=(started["runId"], seq_of(seen[-1])))
        seen += await socket.until_end()
    check_run(seen)
    assert text_of(seen) == "Hello"


async def test_a_snapshot_contains_the_partial_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with (
        open_socket(uvicorn_server.url, user=cast.alice) as first,
        open_socket(uvicorn_server.url, user=cast.alice) as second,
    ):
        started = await first.start("Hi")
        message = (await first.until_type("TEXT_MESSAGE_CONTENT"))[-1]["messageId"]
        await second.attach(started["threadId"])
        begun = await second.until_type("TEXT_MESSAGE_START")
        assert [frame["type"] for frame in begun] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]
        assert (
            begun[1]["messages"][-1] | {"id": message, "role": "assistant", "content": "Hel"}
            == begun[1]["messages"][-1]
        )
        assert begun[2]["messageId"] == message
        gate.release()
        assert text_of(await second.until_end()) == "lo"
    for frame in second.frames:
        check_frame(frame)


async def test_a_snapshot_of_a_finished_thread_has_its_outcome(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi")
    thread = frames[0]["threadId"]
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.attach(thread)
        snapshot = await socket.until_end()
    assert [frame["type"] for frame in snapshot] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [m["content"] for m in snapshot[1]["messages"]] == ["Hi", "Hello"]


@pytest.mark.parametrize(
    ("version", "ending"), [(None, {"type": "cancelled"}), ("1.0", {"type": "cancelled"}), ("", None)]
)
async def test_a_snapshot_of_a_cancelled_run_respects_the_protocol_version(
    server: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
    version: str | None,
    ending: dict[str, str] | None,
) -> None:
    fake_provider.reply(chunks=["Once upon", fake_provider.gate(), " a time"])
    fake_provider.reply("Yes?")
    async with open_socket(server.url, user=cast.alice) as socket:
        started = await socket.start("Tell me a story")
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        await socket.cancel(started["runId"])
        await socket.until_end()
    async with open_socket(server.url, user=cast.alice) as socket:
        if version is not None:
            await socket.ask("Hello?", protocolVersion=version)
        await socket.attach(started["threadId"])
        snapshot = await socket.until_end(started["runId"])
    assert snapshot[-1]["type"] == "RUN_FINISHED"
    assert snapshot[-1].get("outcome") == ending


@pytest.mark.parametrize("path", ["/ws/acme/support", "/ws/acme/", "/ws/a.b/support/", "/elsewhere/"])
async def test_an_unknown_tenant_is_refused_like_any_other(server: Server, cast: Cast, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(server.url.replace("http", "ws", 1) + path, proxy=None):
            pass
    assert refused.value.response.status_code == 403


async def test_a_clients_tool_has_no_name_of_a_tool_that_is_switched_off(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello")
    await in_db(switch_tool)(cast.acme, "calculate", "off")
    names = ["calculate", "locate"]
    tools = [{"name": name, "description": "Mine.", "parameters": {"type": "object"}} for name in names]
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi", tools=tools)
    offered = [one["function"]["name"] for one in fake_provider.requests[0].json["tools"]]
    assert "locate" in offered and "calculate" not in offered


async def test_two_tabs_see_the_same_events(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with (
        open_socket(server.url, user=cast.alice) as first,
        open_socket(server.url, user=cast.alice) as second,
    ):
        thread = (await first.ask("One"))[0]["threadId"]
        await second.attach(thread)
        await second.until_end()
        here = await first.ask("Two", thread=thread)
        there = await second.until_end()
    assert numbered(here) == numbered(there)


async def test_the_same_run_id_is_one_run(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    frame, ready = run_input("Only once"), asyncio.Barrier(10)

    async def ask() -> list[Frame]:
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            await ready.wait()
            await socket.send(frame)
            return await socket.until_end()

    answers = await asyncio.gather(*(ask() for _ in range(10)))
    for frames in answers:
        check_run(frames)
    assert {text_of(frames) for frames in answers} == {text_of(answers[0])}
    assert await Run.objects.acount() == 1
    assert len(fake_provider.requests) == 1


async def test_a_busy_thread_refuses_a_second_run_and_continues(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with open_socket(server.url, user=cast.alice) as socket:
        started = await socket.start("Hi")
        await socket.send(second := run_input("And?", thread=started["threadId"]))
        refusal = (await socket.until_end(second["runId"]))[-1]
        assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "thread_busy")
        gate.release()
        assert (await socket.until_end(started["runId"]))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("version", [{"protocolVersion": "1.0"}, {"protocolVersion": ""}])
async def test_a_client_side_tool_is_answered_in_the_next_input(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, version: dict[str, str]
) -> None:
    fake_provider.call("pick_colour", {"hint": "warm"})
    fake_provider.reply("Red it is.")
    tools = [
        {"name": "pick_colour", "description": "Ask the user.", "parameters": {"type": "object", "properties": {}}}
    ]
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Choose", tools=tools, **version)
        pending = frames[-1]["outcome"]["pendingToolCallIds"]
        answer = {"id": "t1", "role": "tool", "toolCallId": pending[0], "content": "red"}
        again = run_input("", thread=frames[0]["threadId"], tools=tools, messages=[answer])
        await socket.send(again)
        assert text_of(await socket.until_end(again["runId"])) == "Red it is."
    assert "\nred\n[" in fake_provider.requests[-1].json["messages"][-1]["content"]  # fenced


async def test_an_approval_is_asked_given_and_works_once(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", policy="ask")
    fake_provider.call("current_time", {})
    fake_provider.reply("Done.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("What time is it?")
        interrupt = frames[-1]["outcome"]["interrupts"][0]
        assert interrupt["reason"] == "tool_call" and "responseSchema" in interrupt
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        first = run_input("", thread=frames[0]["threadId"], messages=[], resume=resume)
        await socket.send(first)
        answered = await socket.until_end(first["runId"])
        assert text_of(answered) == "Done."
        declined = [{**resume[0], "payload": {"approved": False}}]
        second = first | {"runId": str(uuid.uuid4()), "resume": declined}
        await socket.send(second)
        assert (await socket.until_end(second["runId"]))[-1]["code"] == "invalid_input"
    call = await ToolCall.objects.aget()
    assert (call.status, call.decided_by_id) == (ToolCall.Status.OK, cast.alice.pk)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("no json", "invalid_json"),
        ("[1, 2]", "invalid_frame"),
        ('{"type": "dance"}', "unknown_frame"),
        ("{}", "unknown_frame"),
        ("[" * 100_000, "invalid_json"),
        ('{"type": NaN}', "invalid_json"),
        (b"\x00\x01", "binary_frame"),
        (json.dumps({"type": "ping", "pad": "x" * 300_000}), "frame_too_large"),
    ],
)
async def test_a_bad_frame_is_answered_and_the_socket_stays_open(
    server: Server, cast: Cast, frame: str | bytes, code: str
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.send(frame)
        assert (await socket.until_custom("protocol_error"))["value"]["code"] == code
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")


@pytest.mark.parametrize(
    "change",
    [
        {"threadId": ""},
        {"runId": ""},
        {"messages": "no list"},
        {"messages": []},
        {"messages": [{"id": "m", "role": "user", "content": "   "}]},
        {"messages": [{"id": "m", "role": "assistant", "content": "I said so"}]},
        {"tools": [{"name": "no spaces allowed", "description": "x"}]},
        {"resume": [{"interruptId": "x", "status": "resolved", "payload": "yes"}]},
    ],
)
async def test_a_bad_input_is_a_typed_error(
    uvicorn_server: Server, cast: Cast, provider: Provider, change: dict[str, Any]
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send(run_input("Hi") | change)
        error = (await socket.until_end())[-1]
        assert (error["type"], error["code"]) in {("RUN_ERROR", "invalid_input"), ("RUN_ERROR", "thread_not_found")}
    assert await Run.objects.acount() == 0


async def test_hostile_text_is_stored_and_answered(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("nul \x00 lone \ud800 rtl \u202e tag \U000e0041 emoji 🦊")
    assert frames[-1]["type"] == "RUN_FINISHED"
    assert "🦊" in (await Message.objects.aget(role="user")).content


async def test_mallory_cannot_enter_read_or_stop_acmes_run(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["secret", gate, " word"])
    async with (
        open_socket(server.url, user=cast.alice) as alices,
        open_socket(server.url, user=cast.mallory, tenant="globex") as mallorys,
    ):
        started = await alices.start("Hi")
        await mallorys.attach(started["threadId"])
        assert (await mallorys.until_end())[-1]["code"] == "thread_not_found"
        await mallorys.cancel(started["runId"])
        await mallorys.send(own := run_input("Mine now", thread=started["threadId"]))
        begun = (await mallorys.until_end(own["runId"]))[-1]
        assert (begun["type"], begun["threadId"]) == ("RUN_FINISHED", started["threadId"])  # as any id that nobody has
        gate.release()
        assert text_of(await alices.until_end()) == "secret word"
    assert "secret" not in json.dumps(mallorys.frames)


async def test_a_colleague_cannot_read_a_members_thread(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with (
        open_socket(uvicorn_server.url, user=cast.alice) as alices,
        open_socket(uvicorn_server.url, user=cast.amy) as amys,
    ):
        thread = (await alices.ask("Hi"))[0]["threadId"]
        await amys.attach(thread)
        assert (await amys.until_end())[-1]["code"] == "thread_not_found"
        await amys.send(intrusion := run_input("Let me in", thread=thread))
        assert (await amys.until_end(intrusion["runId"]))[-1]["type"] == "RUN_FINISHED"
        await amys.attach(thread)
        told = (await amys.until_end())[-2:]
    assert [message["content"] for message in told[0]["messages"] if message["role"] == "user"] == ["Let me in"]
    assert await Run.objects.filter(conversation=thread).acount() == 1


async def refused(url: str, **options: Any) -> int:
    with pytest.raises(InvalidStatus) as refusal:
        async with open_socket(url, **options):
            pass
    return refusal.value.response.status_code


async def test_a_refused_handshake_gets_403(server: Server, cast: Cast) -> None:
    assert await refused(server.url) == 403
    assert await refused(server.url, key="ta_wrong") == 403
    assert await refused(server.url, user=cast.oscar) == 403
    assert await refused(server.url, user=cast.mallory) == 403
    assert await refused(server.url, user=cast.alice, tenant="nobody") == 403
    assert await refused(server.url, user=cast.alice, assistant="nothing") == 403
    assert await refused(server.url, user=cast.alice, origin="https://evil.example") == 403


@pytest.mark.parametrize(("origin", "is_allowed"), [("http://localhost", True), ("http://evil.example", False)])
async def test_without_a_host_header_the_origin_must_be_an_allowed_host(
    cast: Cast, origin: str, is_allowed: bool
) -> None:
    headers = [(b"cookie", (await in_db(session_cookie)(cast.alice)).encode()), (b"origin", origin.encode())]
    socket = WebsocketCommunicator(application, "/ws/acme/support/", headers=headers)
    assert (await socket.connect())[0] is is_allowed
    await socket.disconnect()


@pytest.mark.parametrize(
    ("scheme", "is_secure", "is_allowed"),
    [("https", True, True), ("http", True, False), ("http", False, True), ("https", False, False)],
)
async def test_a_page_by_another_scheme_is_another_site(
    uvicorn_server: Server, cast: Cast, scheme: str, is_secure: bool, is_allowed: bool
) -> None:
    """A page that came by http can be written by anybody on the way."""
    origin = uvicorn_server.url.replace("http", scheme, 1)
    options: Any = {"user": cast.alice, "origin": origin}
    options["headers"] = {"X-Forwarded-Proto": "https" if is_secure else "http"}
    if is_allowed:
        async with open_socket(uvicorn_server.url, **options) as socket:
            await socket.send({"type": "ping"})
            await socket.until_custom("pong")
    else:
        assert await refused(uvicorn_server.url, **options) == 403


@pytest.mark.parametrize(("scheme", "is_allowed"), [("wss", True), ("ws", False)])
async def test_the_scheme_is_the_servers_without_a_proxy(cast: Cast, scheme: str, is_allowed: bool) -> None:
    headers = [(b"cookie", (await in_db(session_cookie)(cast.alice)).encode()), (b"origin", b"https://localhost")]
    socket = WebsocketCommunicator(application, "/ws/acme/support/", headers=headers)
    socket.scope["scheme"] = scheme
    assert (await socket.connect())[0] is is_allowed
    await socket.disconnect()


async def test_a_cookie_without_an_origin_is_refused(server: Server, cast: Cast) -> None:
    from tests.ws import session_cookie

    cookie = await in_db(session_cookie)(cast.alice)
    assert await refused(server.url, headers={"Cookie": cookie}) == 403


async def test_a_key_is_accepted_in_a_header_or_subprotocol(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    _, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="test")
    async with open_socket(server.url, key=key) as socket:
        assert (await socket.ask("Hi"))[-1]["type"] == "RUN_FINISHED"
    protocols = ["agui.v1", f"bearer.{key}"]
    async with open_socket(server.url, subprotocols=protocols, origin="https://elsewhere.example") as socket:
        assert (await socket.ask("Hi"))[-1]["type"] == "RUN_FINISHED"
        assert socket._connection.subprotocol == "agui.v1"


@pytest.mark.parametrize("loss", ["key", "membership", "tenant", "user"])
async def test_a_connection_closes_when_access_ends(uvicorn_server: Server, cast: Cast, loss: str) -> None:
    row, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="test")
    async with open_socket(uvicorn_server.url, key=key) as socket:
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")
        if loss == "key":
            await ApiKey.objects.filter(pk=row.pk).aupdate(revoked_at=row.created_at)
        elif loss == "membership":
            await Membership.objects.filter(tenant=cast.acme, user=cast.alice).adelete()
        elif loss == "tenant":
            await Tenant.objects.filter(pk=cast.acme.pk).aupdate(is_active=False)
        else:
            await type(cast.alice).objects.filter(pk=cast.alice.pk).aupdate(is_active=False)
        assert await socket.closed() == 4401


async def test_a_paused_reader_gets_nothing_more_after_access_ends(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    row, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="test")
    line = Line()
    scope = {"type": "websocket", "path": "/ws/acme/support/", "query_string": b"", "subprotocols": []}
    headers = [(b"authorization", f"Bearer {key}".encode())]
    connection = asyncio.create_task(application({**scope, "headers": headers}, line.incoming.get, line.send))
    line.incoming.put_nowait({"type": "websocket.connect"})
    line.incoming.put_nowait({"type": "websocket.receive", "text": json.dumps(run_input("Hi"))})
    await until(lambda: any("TEXT_MESSAGE_CONTENT" in message.get("text", "") for message in line.taken))
    line.is_read.clear()
    taken = len(line.taken)
    gate.release()
    await until(Run.objects.filter(status=Run.Status.FINISHED).exists)
    await ApiKey.objects.filter(pk=row.pk).aupdate(revoked_at=row.created_at)
    await until(lambda: line.given[-1]["type"] == "websocket.close")
    # Events requested meanwhile are not sent either.
    line.incoming.put_nowait({"type": "websocket.receive", "text": json.dumps({"type": "ping"})})
    line.is_read.set()
    line.incoming.put_nowait({"type": "websocket.disconnect", "code": 4401})
    await connection
    assert [(message["type"], message.get("code")) for message in line.taken[taken:]] == [("websocket.close", 4401)]


class Line:
    """A connection whose sender must wait while the client does not read."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.given: list[dict[str, Any]] = []
        self.taken: list[dict[str, Any]] = []
        self.is_read = asyncio.Event()
        self.is_read.set()

    async def send(self, message: dict[str, Any]) -> None:
        self.given.append(message)
        await self.is_read.wait()
        self.taken.append(message)


async def test_signing_out_closes_the_browsers_connections(uvicorn_server: Server, cast: Cast) -> None:
    from django.contrib.sessions.models import Session

    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")
        await Session.objects.all().adelete()
        assert await socket.closed() == 4401


async def test_a_flood_of_frames_ends_in_4429(uvicorn_server: Server, cast: Cast) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        with pytest.raises(ConnectionClosed):
            for _ in range(500):
                await socket.send({"type": "ping"})
                await socket.next()
        assert socket.close_code == 4429
        assert socket.close_reason.endswith("Come back in a second.")


async def test_too_many_handshakes_with_one_key_end_in_4429(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_handshakes", Buckets(2, 0.0))
    key = (await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="k"))[1]

    async def open_as(key: str) -> WebsocketCommunicator:
        headers = [(b"authorization", f"Bearer {key}".encode()), (b"host", b"localhost")]
        socket = WebsocketCommunicator(application, "/ws/acme/support/", headers=headers)
        assert (await socket.connect())[0]
        return socket

    neighbours = [await open_as(key) for _ in range(2)]
    refused = await open_as(key)
    closed = await refused.receive_output()
    assert (closed["code"], closed["reason"][-22:]) == (4429, "Try again in a second.")
    for socket in neighbours:
        await socket.send_json_to({"type": "ping"})
        assert (await socket.receive_json_from())["name"] == "pong"
        await socket.disconnect()


async def test_rendered_blocks_are_sent_on_request(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply(chunks=["# Title\n\nSome *te", "xt*\n\n<script>alert(1)</script>\n"])
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi", forwardedProps={"render": "html"})
    blocks = [frame["value"]["html"] for frame in frames if custom_name(frame) == "message.block"]
    assert "Title</h" in blocks[0] and "<em>text</em>" in blocks[1]
    assert "<script" not in "".join(blocks)


async def test_blocks_requested_later_are_sent_from_then_on(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("One *word*.")
    fake_provider.reply("Two *words*.")
    async with open_socket(server.url, user=cast.alice) as socket:
        plain = await socket.ask("Hi")
        rendered = await socket.ask("Again", thread=run_thread(socket), forwardedProps={"render": "html"})
    blocks = [[one["value"]["html"] for one in run if custom_name(one) == "message.block"] for run in (plain, rendered)]
    assert blocks == [[], ['<p dir="auto">Two <em>words</em>.</p>\n']]


async def test_a_failing_provider_is_a_clear_sentence(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(401, {"error": {"message": "bad key sk-secret"}})
    async with open_socket(server.url, user=cast.alice) as socket:
        error = (await socket.ask("Hi"))[-1]
        assert error["code"] == "provider_error"
        assert re.fullmatch(r"The provider refused the key \(error [0-9a-f]{12}\)\.", error["message"])
        assert (await socket.ask("Again", thread=run_thread(socket)))[-1]["type"] == "RUN_FINISHED"


async def test_a_client_that_disconnects_while_being_closed_is_not_an_error(cast: Cast) -> None:
    async def gone(message: dict[str, Any]) -> None:
        raise ConnectionResetError

    consumer = ChatConsumer()
    consumer.base_send = gone
    member = await in_db(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    consumer._threads = FollowedThreads(member, send=consumer.send_frame, on_failure=pytest.fail)
    consumer._later = LaterRuns(on_failure=pytest.fail)
    consumer._close_soon(1012)
    await consumer._closing
    assert consumer._closing.exception() is None


def run_thread(socket: Socket) -> str:
    return str(next(frame for frame in socket.frames if run_of(frame))["metadata"]["run"]["thread"])
