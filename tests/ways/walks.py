"""Walks the ways of the core. `test_ways.py` runs it in a process of its own, in which nothing else is warm."""

from __future__ import annotations

import asyncio
import json
import os
import re
import uuid
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIHandler

from assistant.client import ChatClient
from assistant.core.values.messages import ToolCall
from assistant.models import Provider
from assistant.routing import with_assistant
from assistant.services import loop_services
from assistant.testing.asgi_client import ORIGIN, LoopThread, WebSocket
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import tool
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.ways.counting import TRIES, Hook, Way
from tests.ws import run_input, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)
HOOK = Hook()
TOOL = "current_time"
# The names of a run's task, and of the work that follows it.
OF_RUN = re.compile(r"(run|after)-\d+$")
ACME = "/api/v1/tenants/acme"


class Site:
    """The site in this process, with a loop in a thread of its own."""

    def __init__(self) -> None:
        self.application = with_assistant(ASGIHandler())
        self.loop = LoopThread()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(work)

    def request(self, method: str, path: str, headers: dict[str, str], **options: Any) -> httpx2.Response:
        async def send() -> httpx2.Response:
            transport = httpx2.ASGITransport(self.application)
            async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
                return await client.request(method, path, headers=headers, **options)

        answer: httpx2.Response = self.run(send())
        assert answer.is_success, (answer.status_code, answer.text)
        return answer

    def open(self, user: User) -> WebSocket:
        headers = {"cookie": session_cookie(user), "origin": ORIGIN}
        return WebSocket(self.application, "/ws/acme/support/", headers)

    def ask(self, socket: WebSocket, frame: dict[str, Any]) -> list[dict[str, Any]]:
        """Send a frame, and return the events to the end of the run and of what follows it."""

        async def work() -> list[dict[str, Any]]:
            await socket.send(frame)
            events = [await socket.receive()]
            while events[-1]["type"] not in ("RUN_FINISHED", "RUN_ERROR"):
                events.append(await socket.receive())
            while following := [task for task in asyncio.all_tasks() if OF_RUN.match(task.get_name())]:
                await asyncio.wait(following)
            return events

        events: list[dict[str, Any]] = self.run(work())
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        return events


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    # The watch of the loop is no part of a way, and comes between.
    monkeypatch.setattr(loop_services, "_factories", [one for one in loop_services._factories if "watch" not in one])
    made = Site()
    yield made
    made.loop.close()


@pytest.fixture
def socket(site: Site, cast: Cast) -> Iterator[WebSocket]:
    opened = site.open(cast.alice)
    site.run(opened.open())
    yield opened
    site.run(opened.close())


def write(name: str, way: Way) -> None:
    """Write what a way enters into the folder of the test that asked for it."""
    (Path(os.environ["WAYS"]) / f"{name}.json").write_text(json.dumps(way.report()))


def test_handshake(site: Site, cast: Cast) -> None:
    cookie = {"cookie": session_cookie(cast.alice), "origin": ORIGIN}
    opened: list[WebSocket] = []

    def shake_hands() -> None:
        opened.append(WebSocket(site.application, "/ws/acme/support/", cookie))
        site.run(opened[-1].open())

    write("handshake", HOOK.walk(shake_hands))
    for one in opened:
        site.run(one.close())


@pytest.fixture
def asked(provider: Provider, fake_provider: FakeProvider, site: Site, socket: WebSocket) -> Callable[[], list[Any]]:
    """A message of a member, for which the model calls a tool and then answers; always in the same conversation."""
    thread = str(uuid.uuid4())

    def ask() -> list[Any]:
        fake_provider.call(TOOL, {})
        fake_provider.reply("It is late.")
        return site.ask(socket, run_input("What time is it?", thread=thread))

    return ask


def test_message_with_a_tool(cast: Cast, asked: Callable[[], list[Any]], fake_provider: FakeProvider) -> None:
    switch_tool(cast.acme, TOOL)
    fake_provider.rule(reply("The time"))
    write("message with a tool", HOOK.walk(asked))


def test_approval(
    cast: Cast, site: Site, socket: WebSocket, asked: Callable[[], list[Any]], fake_provider: FakeProvider
) -> None:
    switch_tool(cast.acme, TOOL, "ask")
    fake_provider.rule(reply("The time"))
    thread = str(uuid.uuid4())

    def ask() -> list[Any]:
        fake_provider.call(TOOL, {})
        return site.ask(socket, run_input("What time is it?", thread=thread))

    def approve(events: list[Any]) -> None:
        fake_provider.reply("It is late.")
        waiting = events[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": one["id"], "status": "resolved", "payload": {"approved": True}} for one in waiting]
        site.ask(socket, run_input("", thread=thread, messages=[], resume=resume))

    ways = []
    for _ in range(TRIES):
        with HOOK.watch() as asking:
            waiting = ask()
        with HOOK.watch() as approving:
            approve(waiting)
        ways.append((asking, approving))
    for number, name in enumerate(("approval asked", "approval answered")):
        common = ways[1][number]
        for tries in ways[2:]:
            common = common.common(tries[number])
        write(name, common)


def test_upload(cast: Cast, site: Site) -> None:
    headers = {"authorization": f"Bearer {key_of(cast.acme, cast.alice)}"}
    file = {"file": ("manual.md", b"# Manual\n", "text/markdown")}
    write("upload", HOOK.walk(lambda: site.request("POST", f"{ACME}/attachments/", headers, files=file)))


def test_rest_list(cast: Cast, site: Site) -> None:
    headers = {"authorization": f"Bearer {key_of(cast.acme, cast.alice)}"}
    write("REST list", HOOK.walk(lambda: site.request("GET", f"{ACME}/conversations/", headers)))


def test_chat_client() -> None:
    @tool
    async def now() -> str:
        """Return the time."""
        return "late"

    def call() -> None:
        model = ScriptedModel([ToolCall("c1", "now", "{}"), "It is late."])
        client = ChatClient(model=model, tools=[now])
        assert client.call_sync("What time is it?").text == "It is late."

    write("ChatClient", HOOK.walk(call))
