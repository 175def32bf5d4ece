"""Messages that wait for the end of an answer, and what becomes of them if that is not seen live, or not at all."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import WebSocketRoute, expect

from assistant.services.errors import Refused
from assistant.services.eventlog.frames import refusal_frame
from tests.browser.acts import answered, ask, last_answer, questions
from tests.browser.conftest import Visitor
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Holder:
    """A websocket between page and server that keeps what the page asks of threads until `release` is called."""

    def __init__(self) -> None:
        self.holds = False
        self._kept: list[str | bytes] = []

    async def handle(self, route: WebSocketRoute) -> None:
        self._server = route.connect_to_server()
        route.on_message(self._pass)

    def _pass(self, message: str | bytes) -> None:
        if self.holds and json.loads(message)["type"] == "attach":
            self._kept.append(message)
        else:
            self._server.send(message)

    def release(self) -> None:
        self.holds = False
        for message in self._kept:
            self._server.send(message)


async def test_what_waits_is_sent_if_only_a_snapshot_tells_of_the_end(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    page = await alice_browser.open()
    fake_provider.reply("One.")
    await ask(page, "First")
    await answered(page)
    held = Holder()
    await alice_browser.context.route_web_socket("**/ws/**", held.handle)
    other = await alice_browser.open(page.url.removeprefix(alice_browser.origin))
    await expect(last_answer(other)).to_have_text("One.")
    held.holds = True
    gate = fake_provider.gate()
    fake_provider.queue(reply(chunks=["Two.", gate]), reply("Three."))
    await ask(page, "Second")
    await expect(other.get_by_role("button", name="Stop the answer")).to_be_visible()
    await other.get_by_label("Message to").fill("Third")
    await other.keyboard.press("Enter")
    await expect(other.get_by_role("group", name="Waiting message")).to_contain_text("Third")
    gate.release()
    await answered(page)
    held.release()
    await expect(last_answer(other)).to_have_text("Three.")
    await expect(questions(page)).to_have_text(["First", "Second", "Third"])
    await expect(other.get_by_role("group", name="Waiting message")).to_be_hidden()


async def test_what_waits_is_given_back_if_the_message_before_it_is_refused(alice_browser: Visitor) -> None:
    asked: list[tuple[WebSocketRoute, str | bytes]] = []

    def keep(route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        route.on_message(
            lambda text: asked.append((route, text)) if "messages" in json.loads(text) else server.send(text)
        )

    await alice_browser.context.route_web_socket("**/ws/**", keep)
    page = await alice_browser.open()
    await ask(page, "First")
    await page.get_by_label("Message to").fill("Second")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("group", name="Waiting message")).to_contain_text("Second")
    ((route, text),) = asked
    route.send(refusal_frame(json.loads(text), Refused("rate_limited", "Too many messages.")))
    await expect(page.locator(".failure-text")).to_have_text("Too many messages.")
    await expect(page.get_by_label("Message to")).to_have_value("Second")
    await expect(page.get_by_role("group", name="Waiting message")).to_be_hidden()
