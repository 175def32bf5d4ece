"""Changes of switches, prompts, documents and permissions are announced to listening clients, across processes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Iterator

import httpx2
import pytest
from django.utils import timezone
from mcp import Client as SdkClient
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ToolListChangedNotification

from assistant.contrib.mcp_server.list_changes import MAX_STREAMS
from assistant.models import ApiKey
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.knowledge.documents import add_document
from assistant.services.toolpolicy.switch_changes import set_switch
from tests.base import Cast
from tests.live import Server, serve
from tests.mcp.talking import OLDER, Client, Json, events, headers, streaming
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)

ALL: Json = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def turn_switch(cast: Cast, policy: str = "on") -> None:
    set_switch(actor=cast.amy, tenant=cast.acme, assistant=None, tool="find_orders", policy=policy)


def publish(cast: Cast) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="You are new."))


def add_paper(cast: Cast) -> None:
    add_document(tenant=cast.acme, title="Hours", text="From nine to five.")


CHANGES: list[tuple[Callable[[Cast], None], str]] = [
    (turn_switch, "notifications/tools/list_changed"),
    (publish, "notifications/prompts/list_changed"),
    (add_paper, "notifications/resources/list_changed"),
]


def acknowledged(messages: Iterator[Json]) -> Json:
    first = next(messages)
    assert first["method"] == "notifications/subscriptions/acknowledged"
    return first


def test_every_change_is_announced_on_a_stream_that_asked_for_it(
    uvicorn_served: Server, cast: Cast, alice_key: str
) -> None:
    alice = Client(uvicorn_served.url, alice_key)
    with streaming(alice, "subscriptions/listen", {"notifications": ALL}) as messages:
        stream = acknowledged(messages)["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
        for change, method in CHANGES:
            change(cast)
            told = next(messages)
            assert told["method"] == method
            assert told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == stream
    assert "find_orders" in alice.tools()


def test_changes_are_announced_only_where_requested_and_relevant(
    uvicorn_served: Server, cast: Cast, alice_key: str, mallory_key: str
) -> None:
    alice, mallory = Client(uvicorn_served.url, alice_key), Client(uvicorn_served.url, mallory_key)
    only_prompts = {"notifications": {"promptsListChanged": True}}
    with (
        streaming(alice, "subscriptions/listen", only_prompts) as hers,
        streaming(mallory, "subscriptions/listen", {"notifications": ALL}) as theirs,
    ):
        acknowledged(hers)
        acknowledged(theirs)
        turn_switch(cast)
        publish(cast)
        assert next(hers)["method"] == "notifications/prompts/list_changed"
        add_document(tenant=cast.globex, title="Plans", text="Rival plans.")
        assert next(theirs)["method"] == "notifications/resources/list_changed"


def test_a_single_document_can_be_watched(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key)
    paper = add_document(tenant=cast.acme, title="Hours", text="From nine to five.")
    [uri] = [one["uri"] for one in alice.result("resources/list")["resources"]]
    wanted = {"notifications": {"resourceSubscriptions": [uri]}}
    with streaming(alice, "subscriptions/listen", wanted) as messages:
        acknowledged(messages)
        paper.text = "From ten to six."
        paper.save()
        told = next(messages)
    assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", uri)


def test_an_older_client_gets_changes_on_its_get_stream(served: Server, cast: Cast, alice_key: str) -> None:
    alice = Client(served.url, alice_key, version=OLDER)
    with alice.http.stream("GET", alice.url, headers=headers(alice_key, version=OLDER)) as response:
        assert response.status_code == 200
        turn_switch(cast)
        assert next(events(response.iter_lines()))["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize(("version", "begins"), [(OLDER, "retry: 1000"), ("2025-06-18", "")])
def test_the_get_stream_says_when_to_come_back_to_clients_that_expect_it(
    version: str, begins: str, uvicorn_served: Server, cast: Cast, alice_key: str
) -> None:
    """It has no ids: no other process could go on where it ended."""
    alice = Client(uvicorn_served.url, alice_key, version=version)
    with alice.http.stream("GET", alice.url, headers=headers(alice_key, version=version)) as response:
        add_paper(cast)
        lines = response.iter_lines()
        seen = [next(lines) for _ in range(3)]
    assert [line for line in seen if line.startswith("retry")] == ([begins] if begins else [])
    assert not any(line.startswith("id:") for line in seen)


async def test_the_official_client_of_an_older_protocol_hears_of_a_change(
    with_sessions: Server, cast: Cast, alice_key: str
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.put_nowait(message.method)

    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {alice_key}"}) as http:
        wire = streamable_http_client(f"{with_sessions.url}/mcp/", http_client=http)
        async with SdkClient(wire, mode="legacy", message_handler=hear) as alice:
            assert "find_orders" not in {tool.name for tool in (await alice.list_tools()).tools}
            # Its stream may open after the switch was turned: then it is turned again.
            for policy in itertools.cycle(["on", "off"]):
                await in_db(turn_switch)(cast, policy)
                with contextlib.suppress(TimeoutError):
                    assert await asyncio.wait_for(heard.get(), 15) == "notifications/tools/list_changed"
                    break


def test_a_revoked_key_ends_its_streams(served: Server, cast: Cast, alice_key: str) -> None:
    alice = Client(served.url, alice_key)
    with streaming(alice, "subscriptions/listen", {"notifications": ALL}) as messages:
        acknowledged(messages)
        ApiKey.objects.filter(user=cast.alice).update(revoked_at=timezone.now())
        assert [one for one in messages if "method" in one] == []


def test_an_open_stream_does_not_delay_shutdown(transactional_db: None, cast: Cast, alice_key: str) -> None:
    with serve() as server:
        alice = Client(server.url, alice_key)
        with streaming(alice, "subscriptions/listen", {"notifications": ALL}) as messages:
            acknowledged(messages)
            assert server.stop() in {0, -15}


async def test_simultaneous_streams_respect_the_limit(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    url, sent = f"{uvicorn_served.url}/mcp/", headers(alice_key, version=OLDER)
    async with httpx2.AsyncClient(timeout=60) as http, contextlib.AsyncExitStack() as streams:
        opening = (streams.enter_async_context(http.stream("GET", url, headers=sent)) for _ in range(3 * MAX_STREAMS))
        opened = await asyncio.gather(*opening)
        refused = [one for one in opened if one.status_code != 200]
        assert len(opened) - len(refused) == MAX_STREAMS
        for one in refused:
            told = json.loads(await one.aread())
            assert (one.status_code, told["code"]) == (429, "too_many_requests")
            assert "Close one first" in told["message"] and int(one.headers["Retry-After"]) > 0
        alice = Client(uvicorn_served.url, alice_key)
        error = (await asyncio.to_thread(alice.ask, "subscriptions/listen", {"notifications": ALL}))["error"]
        assert error["data"] == {"code": "too_many_requests", "retryAfter": 15}


@pytest.mark.services
def test_a_change_in_one_process_is_announced_in_the_other(
    two_servers: tuple[Server, Server], cast: Cast, alice_key: str
) -> None:
    clients = [Client(server.url, alice_key) for server in two_servers]
    wanted = {"notifications": ALL}
    with (
        streaming(clients[0], "subscriptions/listen", wanted) as here,
        streaming(clients[1], "subscriptions/listen", wanted) as there,
    ):
        acknowledged(here)
        acknowledged(there)
        turn_switch(cast)
        assert [next(one)["method"] for one in (here, there)] == ["notifications/tools/list_changed"] * 2
