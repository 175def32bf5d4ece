"""Every frame, endpoint and MCP method with every set of scopes, of both tenants, against the one table of scopes."""

from __future__ import annotations

import inspect
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.urls import URLPattern, URLResolver
from websockets.exceptions import InvalidStatus

from assistant import optional_apps
from assistant.api import urls as rest_urls
from assistant.api.addresses import OF_TENANT
from assistant.contrib.mcp_server.protocol import build_server
from assistant.contrib.mcp_server.scopes import MCP_METHODS
from assistant.contrib.openai_api.api import urls as openai_urls
from assistant.contrib.openai_api.scopes import OPENAI
from assistant.models import Conversation, Provider, Run
from assistant.services.tenancy.scopes import ANY, FRAMES, HANDSHAKE, REST, RUN, Rule
from assistant.websocket.added_frames import described_frames
from assistant.websocket.consumer import ChatConsumer
from tests.agui import Frame
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.mcp.talking import headers, message
from tests.services.callers.scope_sets import SETS, Keys, keys_of
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "what-was-said-before"
# Answered by the SDK itself.
OF_THE_SDK = {"initialize"}
METHODS = ("get", "post", "put", "patch", "delete")
ENDPOINTS = [
    (f"/api/v1/tenants/acme/{address}", method, rule)
    for address, rules in REST.items()
    for method, rule in rules.items()
]
COMPLETIONS = [(f"/v1/{address}", method, rule) for address, rules in OPENAI.items() for method, rule in rules.items()]


@dataclass(frozen=True)
class World:
    """Alice's conversation, in which something was said before, and keys of every set for her and for Mallory."""

    server: Server
    talk: Conversation
    run: Run
    alice: Keys
    mallory: Keys

    def path(self, pattern: str) -> str:
        values = {
            "thread": self.talk.pk,
            "run_id": self.run.run_id,
            "message_id": "m-1",
            "number": 1,
            "schedule": 1,
            "collection": 1,
            "document": 1,
            "label": 1,
            "saved_prompt": 1,
            "tool_request": 1,
            **dict.fromkeys(("file", "attachment", "share"), uuid.UUID(int=1)),
        }
        return re.sub(r"<\w+:(\w+)>", lambda found: str(values.get(found[1], "support")), pattern)


def _make(server: Server, cast: Cast) -> World:
    talk = make_conversation(cast.alice, cast.support, title=SECRET)
    run = make_run(talk, status=Run.Status.FINISHED, checkpoint_seq=2)
    run.ending = {"type": "RUN_FINISHED", "threadId": str(talk.pk), "runId": run.run_id}
    run.save(update_fields=["ending"])
    make_message(talk, run=run, content=SECRET)
    return World(server, talk, run, keys_of(cast.acme, cast.alice), keys_of(cast.globex, cast.mallory))


@pytest_asyncio.fixture
async def world(uvicorn_server: Server, cast: Cast) -> World:
    return await sync_to_async(_make)(uvicorn_server, cast)


@pytest_asyncio.fixture
async def http(uvicorn_server: Server) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, timeout=60) as client:
        yield client


async def status_of(http: httpx2.AsyncClient, method: str, path: str, key: str) -> tuple[int, str]:
    body = {} if method in {"POST", "PUT", "PATCH"} else None
    async with http.stream(method, path, json=body, headers={"Authorization": f"Bearer {key}"}) as answer:
        return answer.status_code, (await answer.aread()).decode()


def is_refused(status: int, text: str, rule: Rule) -> bool:
    return status == 403 and f"This key has no {rule} scope." in text


# Deleting comes last: nothing can be read of the conversation after it.
@pytest.mark.parametrize(("pattern", "method", "rule"), sorted(ENDPOINTS, key=lambda one: one[1] == "DELETE"))
async def test_an_endpoint_asks_for_its_scopes(
    pattern: str, method: str, rule: Rule, world: World, http: httpx2.AsyncClient
) -> None:
    path = world.path(pattern)
    for chosen in SETS:
        status, text = await status_of(http, method, path, world.alice[chosen])
        assert is_refused(status, text, rule) is not rule.admits(chosen), (chosen, status, text)
        assert SECRET not in text or "read" in chosen, (chosen, text)
        status, text = await status_of(http, method, path, world.mallory[chosen])
        assert status in {403, 404} and SECRET not in text, (chosen, status, text)


@pytest.mark.parametrize(("pattern", "method", "rule"), COMPLETIONS)
async def test_an_openai_endpoint_asks_for_its_scopes(
    pattern: str, method: str, rule: Rule, world: World, http: httpx2.AsyncClient
) -> None:
    for chosen in SETS:
        status, text = await status_of(http, method, world.path(pattern), world.alice[chosen])
        assert is_refused(status, text, rule) is not rule.admits(chosen), (chosen, status, text)


@pytest.mark.parametrize("method", MCP_METHODS)
async def test_an_mcp_method_asks_for_its_scopes(method: str, world: World, http: httpx2.AsyncClient) -> None:
    rule, body = MCP_METHODS[method], message(method, {"name": "support", "uri": "x"})
    for chosen in SETS:
        async with http.stream("POST", "/mcp/", json=body, headers=headers(world.alice[chosen], method)) as answer:
            text = "" if answer.status_code == 200 else (await answer.aread()).decode()
        assert is_refused(answer.status_code, text, rule) is not rule.admits(chosen), (chosen, text)


def is_answer_to_attach(frame: Frame) -> bool:
    """Whether it is one, and not the answer to an earlier frame about alarms, which may come late."""
    return frame["type"] in {"MESSAGES_SNAPSHOT", "RUN_ERROR"} or frame.get("name") == "protocol_error"


async def frames_of(socket: Socket, frame: Frame) -> list[Frame]:
    """What comes for a frame: a run to its end, the answer to an attach, or nothing before the next pong."""
    await socket.send(frame)
    if "type" not in frame:
        return await socket.until_end()
    if frame["type"] == "attach":
        return await socket.until(is_answer_to_attach)
    if frame["type"] != "ping":
        await socket.send({"type": "ping"})
    return await socket.until(lambda one: one["type"] == "CUSTOM" and one["name"] == "pong")


def frame_of(kind: str, world: World) -> Frame:
    frames: Mapping[str, Frame] = {
        RUN: run_input("Hi"),
        "attach": {"type": "attach", "threadId": str(world.talk.pk)},
        "cancel": {"type": "cancel", "runId": world.run.run_id},
        "feedback": {"type": "feedback", "threadId": str(world.talk.pk), "messageId": "m", "rating": 1},
        "show": {"type": "show", "threadId": str(world.talk.pk), "messageId": "m"},
        "alarms": {"type": "alarms"},
        "inbox": {"type": "inbox"},
        "inbox.seen": {"type": "inbox.seen", "threadId": str(uuid.uuid4())},
        "conversations": {"type": "conversations"},
        "tool_requests": {"type": "tool_requests"},
        "tool_requests.seen": {"type": "tool_requests.seen", "id": 1},
        "alarm": {"type": "alarm", "number": 1, "action": "done"},
        "ping": {"type": "ping"},
    }
    return frames[kind]


@pytest.mark.parametrize("chosen", SETS, ids=",".join)
async def test_frames_ask_for_their_scopes(
    chosen: tuple[str, ...], world: World, provider: Provider, fake_provider: FakeProvider
) -> None:
    if not HANDSHAKE.admits(chosen):
        with pytest.raises(InvalidStatus):
            async with open_socket(world.server.url, key=world.alice[chosen]):
                pass
        return
    async with open_socket(world.server.url, key=world.alice[chosen]) as socket:
        for kind, rule in FRAMES.items():
            fake_provider.reply("Hello")
            text = json.dumps(await frames_of(socket, frame_of(kind, world)))
            assert (f"This key has no {rule} scope." in text) is not rule.admits(chosen), (kind, text)
            assert (SECRET in text) is (kind == "attach" and "read" in chosen), (kind, text)
    with suppress(InvalidStatus):
        async with open_socket(world.server.url, tenant="globex", key=world.mallory[chosen]) as socket:
            for kind in FRAMES.keys() - {RUN}:
                assert SECRET not in json.dumps(await frames_of(socket, frame_of(kind, world)))
            assert (await frames_of(socket, frame_of("attach", world)))[-1]["code"] == "thread_not_found"


def _routes(patterns: list[Any]) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern) and not str(pattern.pattern).startswith("^"):
            yield str(pattern.pattern), pattern.callback


def test_every_endpoint_and_its_methods_are_in_the_table() -> None:
    resolvers = [one for one in optional_apps.urlpatterns() if isinstance(one, URLResolver)]
    of_apps = [one for one in resolvers if str(one.pattern) == OF_TENANT]
    routes = _routes([*rest_urls.of_tenant, *(route for one in of_apps for route in one.url_patterns)])
    # Who has the address of a result that comes later needs no key: its token is the credential.
    found = {address: view for address, view in routes if not address.startswith("pending/")}
    assert set(found) == set(REST)
    for address, view in found.items():
        if hasattr(view, "cls"):
            assert {name.upper() for name in METHODS if hasattr(view.cls, name)} == set(REST[address]), address
            assert view.view_initkwargs["rules"] is REST[address]
    assert {address for address, _ in _routes(openai_urls.urlpatterns)} == set(OPENAI)


def test_every_kind_of_frame_is_in_the_table() -> None:
    compared = set(re.findall(r'kind == "(\w+)"', inspect.getsource(ChatConsumer._dispatch)))
    assert compared == set(FRAMES) - {RUN} - set(described_frames()) and {*described_frames()} <= {*FRAMES}


def test_every_method_of_mcp_is_in_the_table() -> None:
    served = [build_server(with_sessions=with_sessions)._request_handlers for with_sessions in (True, False)]
    assert {method for handlers in served for method in handlers} == set(MCP_METHODS) - OF_THE_SDK


async def test_an_unknown_method_is_told_to_any_key(world: World, http: httpx2.AsyncClient) -> None:
    for chosen in SETS:
        assert ANY.admits(chosen)
        status, _ = await status_of(http, "PUT", "/api/v1/tenants/acme/usage/", world.alice[chosen])
        assert status == 405
