"""Lost connections, and several tabs on one conversation: nothing is lost, nothing is shown twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import WebSocketRoute, expect

from assistant.services.errors import Failure
from assistant.services.eventlog.frames import refusal_frame
from assistant.services.tenancy.tenants import set_active
from tests.base import PASSWORD, Cast
from tests.browser.acts import answered, answers, ask, last_answer, questions
from tests.browser.conftest import Visitor, sign_in
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider, Gate
from tests.line import Line

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Gatekeeper:
    """Lets websockets through, or closes them, while other requests pass."""

    def __init__(self) -> None:
        self.is_open = True
        self._passed: list[WebSocketRoute] = []

    async def handle(self, route: WebSocketRoute) -> None:
        if self.is_open:
            route.connect_to_server()
            self._passed.append(route)
        else:
            await route.close()

    async def shut(self) -> None:
        self.is_open = False
        for route in self._passed:
            await route.close()


async def test_an_answer_continues_after_a_lost_connection(
    shaky_browser: Visitor, line: Line, fake_provider: FakeProvider
) -> None:
    page = await shaky_browser.open()
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One **two** three.\n\n", "Four ", gate, "five ", "six."])
    await ask(page, "Count")
    await expect(last_answer(page)).to_contain_text("Four")
    line.cut()
    await expect(page.get_by_text("Connection lost. Reconnecting…").first).to_be_visible()
    gate.release()
    line.mend()
    await answered(page)
    await expect(last_answer(page)).to_have_text("One two three. Four five six.")
    await expect(page.locator("#connection")).not_to_be_visible()


async def test_repeated_disconnects_repeat_and_lose_no_character(
    shaky_browser: Visitor, line: Line, fake_provider: FakeProvider
) -> None:
    page = await shaky_browser.open()
    words = [f"word{number} " for number in range(60)]
    gates = [fake_provider.gate() for _ in range(5)]
    chunks: list[str | Gate] = [*words]
    for number, gate in reversed(list(enumerate(gates))):
        chunks.insert(12 * number + 6, gate)
    fake_provider.reply(chunks=chunks)
    await ask(page, "Talk")
    for number, gate in enumerate(gates):
        await expect(last_answer(page)).to_contain_text(f"word{12 * number + 5}")
        line.drop()
        gate.release()
    await answered(page)
    assert (await last_answer(page).inner_text()).split() == "".join(words).split()


async def test_a_message_written_offline_is_sent_once_after_reconnecting(
    shaky_browser: Visitor, line: Line, fake_provider: FakeProvider
) -> None:
    page = await shaky_browser.open()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    line.cut()
    await expect(page.locator("#connection")).to_be_visible()
    fake_provider.reply("Got it.")
    await ask(page, "Sent from a tunnel")
    await expect(page.get_by_text("Waiting for the connection")).to_be_visible()
    line.mend()
    await expect(last_answer(page)).to_have_text("Got it.")
    await expect(questions(page)).to_have_text(["Sent from a tunnel"])
    await expect(page.get_by_text("Waiting for the connection")).not_to_be_visible()
    assert len(fake_provider.requests) == 1


async def test_a_message_waiting_for_the_connection_can_be_withdrawn(
    shaky_browser: Visitor, line: Line, fake_provider: FakeProvider
) -> None:
    page = await shaky_browser.open()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    line.cut()
    await expect(page.locator("#connection")).to_be_visible()
    await ask(page, "Rather not")
    await page.get_by_role("button", name="Stop the answer").click()
    await expect(page.get_by_label("Message to")).to_have_value("Rather not")
    await expect(questions(page)).to_have_count(0)
    line.mend()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    assert fake_provider.requests == []


async def test_a_reload_in_the_middle_of_an_answer_catches_up(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    page = await alice_browser.open()
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["A *start*.\n\n", "Then ", gate, "the end."])
    await ask(page, "Long story")
    await expect(last_answer(page)).to_contain_text("Then")
    await page.wait_for_url("**/c/*/")
    await page.reload()
    await expect(last_answer(page).locator("em")).to_have_text("start")
    await expect(last_answer(page)).to_contain_text("Then")
    await expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_have_text("A start. Then the end.")
    await expect(answers(page)).to_have_count(1)


async def test_a_second_tab_sees_the_same_conversation_as_it_happens(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    first = await alice_browser.open()
    fake_provider.reply("Hello.")
    await ask(first, "Hi")
    await answered(first)
    second = await alice_browser.open(first.url.removeprefix(alice_browser.origin))
    await expect(last_answer(second)).to_have_text("Hello.")
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Half ", gate, "and half."])
    await ask(first, "More")
    await expect(last_answer(second)).to_have_text("Half")
    await expect(questions(second)).to_have_text(["Hi", "More"])
    gate.release()
    await answered(second)
    await expect(last_answer(second)).to_have_text("Half and half.")
    fake_provider.reply("From the other side.")
    await ask(second, "Back")
    await expect(last_answer(first)).to_have_text("From the other side.")
    await expect(questions(first)).to_have_text(["Hi", "More", "Back"])


async def test_either_tab_can_stop_the_answer(alice_browser: Visitor, fake_provider: FakeProvider) -> None:
    first = await alice_browser.open()
    fake_provider.reply(chunks=["Running ", fake_provider.gate(), "on"])
    await ask(first, "Run")
    await expect(last_answer(first)).to_have_text("Running")
    await first.wait_for_url("**/c/*/")
    second = await alice_browser.open(first.url.removeprefix(alice_browser.origin))
    await second.get_by_role("button", name="Stop the answer").click()
    for tab in (first, second):
        await answered(tab)
        await expect(tab.get_by_text("Stopped.", exact=True)).to_be_visible()


async def test_a_stopped_answer_stays_marked(alice_browser: Visitor, fake_provider: FakeProvider) -> None:
    page = await alice_browser.open()
    fake_provider.reply(chunks=["Only this ", fake_provider.gate()])
    await ask(page, "First")
    await expect(last_answer(page)).to_have_text("Only this")
    await page.get_by_role("button", name="Stop the answer").click()
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    await expect(page.get_by_text("This answer was cut off.")).to_have_count(0)
    fake_provider.reply("Whole.")
    await ask(page, "Second")
    await answered(page)
    await page.reload()
    await expect(last_answer(page)).to_have_text("Whole.")
    await expect(page.get_by_text("Stopped.", exact=True)).to_have_count(1)
    await expect(page.get_by_text("This answer was cut off.")).to_have_count(0)


async def test_signing_out_elsewhere_leads_to_signing_in_and_back(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    page = await alice_browser.open()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    gate = fake_provider.gate()
    fake_provider.queue(reply(chunks=["Not yet ", gate]), reply("I am."))
    await ask(page, "Hi")
    await expect(last_answer(page)).to_have_text("Not yet")
    await page.wait_for_url("**/c/*/")
    address = page.url
    other = await alice_browser.open()
    await other.get_by_role("button", name="Sign out").click()
    await expect(page.locator("#connection")).to_contain_text("You are signed out")
    await expect(page.locator(".thinking")).to_be_hidden()
    await ask(page, "Still there?")
    await expect(page.get_by_text("Sent as soon as you have signed in")).to_be_visible()
    await expect(page.locator(".thinking").last).to_be_hidden()
    gate.release()
    await page.get_by_role("link", name="Sign in").click()
    await page.get_by_label("User name").fill("alice")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(address)
    await expect(questions(page)).to_have_text(["Hi", "Still there?"])
    await expect(last_answer(page)).to_have_text("I am.")


async def test_a_suspended_tenants_notice_is_read_in_open_chats(alice_browser: Visitor, cast: Cast) -> None:
    page = await alice_browser.open()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    notice = "Please call <billing>."
    await database_sync_to_async(set_active)(tenant=cast.acme, is_active=False, notice=notice, actor=None)
    await expect(page.locator("#connection")).to_contain_text(notice, timeout=20_000)
    await expect(page.locator("#sign-in")).to_be_hidden()
    # Browsers report that the page is not there any more.
    assert all("404" in problem for problem in alice_browser.problems)
    alice_browser.problems.clear()


async def test_what_one_member_wrote_is_neither_sent_nor_shown_for_the_next(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    page = await alice_browser.open()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    other = await alice_browser.open()
    await other.get_by_role("button", name="Sign out").click()
    await expect(page.locator("#connection")).to_contain_text("You are signed out")
    await ask(page, "What do I earn?")
    await expect(page.get_by_text("Sent as soon as you have signed in")).to_be_visible()
    await page.locator("#message").fill("And Amy?")
    await sign_in(page, alice_browser.origin, "amy")
    await page.goto(f"{alice_browser.origin}/t/acme/")
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    await expect(page.locator("#message")).to_have_value("")
    await expect(questions(page)).to_have_count(0)
    assert not fake_provider.requests


async def test_a_message_survives_a_reload_while_there_is_no_websocket(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    gatekeeper = Gatekeeper()
    await alice_browser.context.route_web_socket("**/ws/**", gatekeeper.handle)
    page = await alice_browser.open()
    fake_provider.reply("Hello.")
    await ask(page, "Hi")
    await answered(page)
    await page.wait_for_url("**/c/*/")
    await gatekeeper.shut()
    await ask(page, "Still there?")
    await expect(page.get_by_text("Waiting for the connection")).to_be_visible()
    fake_provider.reply("I am.")
    await page.reload()
    await expect(page.get_by_text("Waiting for the connection")).to_be_visible()
    gatekeeper.is_open = True
    await expect(last_answer(page)).to_have_text("I am.")
    await expect(questions(page)).to_have_text(["Hi", "Still there?"])
    assert len(fake_provider.requests) == 2


async def test_a_question_during_a_database_outage_is_sent_again_automatically(
    shaky_browser: Visitor, fake_provider: FakeProvider
) -> None:
    """The server's part is in tests/site/test_outages.py."""
    tried: list[dict[str, Any]] = []

    def pass_on(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def hear(text: str | bytes) -> None:
            frame = json.loads(text)
            if "messages" in frame:
                tried.append(frame)
                if len(tried) == 1:
                    route.send(refusal_frame(frame, Failure("unavailable", "Try again.").refusal))
                    return
            server.send(text)

        route.on_message(hear)

    fake_provider.reply("I am back.")
    await shaky_browser.context.route_web_socket("**/ws/**", pass_on)
    page = await shaky_browser.open()
    await ask(page, "Are you there?")
    await expect(page.locator(".turn.user .note")).to_have_text(
        "The service is unavailable for a moment. This is sent as soon as it is back."
    )
    await expect(last_answer(page)).to_have_text("I am back.")
    await expect(questions(page)).to_have_text(["Are you there?"])
    await expect(page.locator(".turn.user .note")).not_to_be_visible()
    assert tried[0] == tried[1]


@pytest.mark.parametrize("is_asked", [False, True], ids=["nothing was asked", "a ping was sent before"])
async def test_without_a_network_a_second_is_waited_for_an_answer(
    is_asked: bool, shaky_browser: Visitor, line: Line
) -> None:
    """With one it is ten. The page's clock stands still, so that the test's own speed says nothing."""
    page = await shaky_browser.context.new_page()
    await page.clock.install()
    await page.goto(shaky_browser.origin + "/t/acme/")
    is_open, waits = page.locator("body[data-connection=open]"), page.locator("body[data-connection=waiting]")
    await expect(is_open).to_be_attached()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1000"))
    line.swallow()
    if is_asked:
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await page.clock.run_for(2_000)
        await expect(is_open).to_be_attached()
    await page.evaluate("window.addEventListener('offline', () => (window.isTold = true))")
    await page.context.set_offline(True)
    await page.wait_for_function("window.isTold")
    await page.clock.run_for(900)
    await expect(is_open).to_be_attached()
    await page.clock.run_for(200)
    await expect(waits).to_be_attached()
    await page.context.set_offline(False)
    line.mend()
    await page.clock.resume()
    await expect(is_open).to_be_attached()
