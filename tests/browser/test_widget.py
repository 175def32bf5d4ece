"""The widget in a page of another origin: the page, the policy and the backend of docs/widget.md."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.end_users.models import WidgetOrigin
from assistant.contrib.end_users.services.tokens import allow_origin
from assistant.models import ApiKey, Conversation, ToolCall, ToolFile
from tests.api.calling import key_of
from tests.base import Cast
from tests.browser.conftest import PATIENCE_MS
from tests.browser.watching import NOTHING, Watch, provoke
from tests.docs.snippets import ROOT
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.line import Line
from tests.live import free_port
from tests.slow_tool.tools import PIXEL
from tests.vectors.streaming import stream_all

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PANEL = "tenant-assistant section"


@dataclass
class Shop:
    """The host's site, and the errors in its pages."""

    url: str
    browser: Browser
    problems: list[str]

    async def visit(self, user: str = "dora", *, attributes: str = "", **options: object) -> Page:
        """Its page, seen by one of its users (by nobody: "")."""
        context = await self.browser.new_context(**options)  # type: ignore[arg-type]
        if user:
            await context.add_cookies([{"name": "user", "value": user, "url": self.url}])
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)
        await page.goto(f"{self.url}/?attributes={attributes}")
        return page


def start_host(port: int, assistant_url: str, key: str) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")}
    environment |= {"ASSISTANT_URL": assistant_url, "ASSISTANT_KEY": key}
    command = [sys.executable, "-m", "tests.contrib.end_users.host", str(port)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.05)
    raise AssertionError("the host's site did not start")


@pytest.fixture
def host(cast: Cast, line: Line) -> Iterator[str]:
    """The host's site at `localhost`, another site than the assistant's at 127.0.0.1."""
    port = free_port()
    url = f"http://localhost:{port}"
    key = key_of(cast.acme, cast.amy, scopes=["end_users"])
    allow_origin(assistant=cast.support, origin=url)
    process = start_host(port, line.origin, key)
    try:
        wait_for(f"{url}/sign-in/", process)
        yield url
    finally:
        process.terminate()
        process.wait(10)


@pytest_asyncio.fixture(loop_scope="session")
async def shop(browser: Browser, host: str, line: Line) -> AsyncIterator[Shop]:
    made = Shop(host, browser, [])
    yield made
    for context in browser.contexts:
        await context.close()
    assert made.problems == []


async def ask(page: Page, text: str) -> None:
    await page.get_by_label("Message to Acme Support").fill(text)
    await page.keyboard.press("Enter")


async def open_widget(page: Page) -> None:
    """Open it, unless it is open since the page before."""
    if await page.locator("tenant-assistant .launcher").get_attribute("aria-expanded") == "false":
        await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.get_by_role("heading", name="Acme Support")).to_be_visible()


async def done(page: Page) -> None:
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_a_visitor_is_answered_in_the_hosts_page(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Thirty **days**, with the `receipt`.\n\n- as money\n- as a voucher\n")
    page = await shop.visit()
    await open_widget(page)
    await page.get_by_role("button", name="Where is my order?").click()
    await expect(page.locator(".answer strong")).to_have_text("days")
    await expect(page.locator(".answer li")).to_have_count(2)
    await done(page)
    assert await page.context.cookies(page.url) == await page.context.cookies()  # the host's own, and no other
    assert await page.evaluate("document.querySelectorAll('style, [style]').length") == 0


async def test_short_answers_are_read_without_a_jump(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    for text in ("One", "Two"):
        fake_provider.reply("Short.")
        await ask(page, text)
        await expect(page.locator(".footer time")).to_have_count(1 if text == "One" else 2)
    await expect(page.locator(".answer").last).to_be_in_viewport(ratio=1)
    await expect(page.get_by_role("button", name="Jump to latest")).to_be_hidden()


async def test_disconnects_repeat_and_lose_no_character(shop: Shop, line: Line, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    words = [f"word{number} " for number in range(40)]
    gates = [fake_provider.gate() for _ in range(3)]
    chunks: list[object] = [*words]
    for number, gate in reversed(list(enumerate(gates))):
        chunks.insert(12 * number + 6, gate)
    fake_provider.reply(chunks=chunks)
    await ask(page, "Talk")
    for number, gate in enumerate(gates):
        await expect(page.locator(".answer")).to_contain_text(f"word{12 * number + 5}")
        line.drop()
        gate.release()
    await done(page)
    assert (await page.locator(".answer").inner_text()).split() == "".join(words).split()
    shop.problems.clear()  # the browser says that the line was lost


async def test_the_conversation_goes_on_at_the_next_page_and_ends_with_the_visitor(
    shop: Shop, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("You are Dora.")
    page = await shop.visit("dora")
    await open_widget(page)
    await ask(page, "I am Dora")
    await done(page)
    await page.reload()
    await open_widget(page)
    await expect(page.locator(".answer")).to_have_text("You are Dora.")
    await page.context.add_cookies([{"name": "user", "value": "carl", "url": shop.url}])
    await page.reload()
    await open_widget(page)
    await expect(page.get_by_role("button", name="Where is my order?")).to_be_visible()
    await expect(page.locator(".answer, .bubble")).to_have_count(0)
    owners = Conversation.objects.values_list("user__assistant_end_user__external_id", flat=True)
    assert [owner async for owner in owners] == ["dora"]


async def test_a_page_of_another_origin_is_refused(shop: Shop, host: str) -> None:
    await WidgetOrigin.objects.all().aupdate(origin="https://other.example.com")
    page = await shop.visit()
    await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.locator(".trouble")).to_have_text("The assistant is not available on this page.")
    await expect(page.locator("textarea")).to_be_disabled()
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.keyboard.press("Escape")
    await expect(page.locator(PANEL)).to_be_hidden()
    assert any("403" in problem for problem in shop.problems)
    await expect(page.get_by_role("button", name="Where is my order?")).to_have_count(0)
    shop.problems.clear()


async def test_a_failing_backend_is_shown(shop: Shop) -> None:
    page = await shop.visit()
    await page.route("**/my-token/**", lambda route: route.fulfill(status=500))
    await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.locator(".trouble")).to_have_text("The assistant cannot be reached. Trying again…")
    await page.unroute("**/my-token/**")
    await expect(page.locator(".trouble")).to_be_hidden()
    shop.problems.clear()


async def test_an_anonymous_visitor_is_asked_to_sign_in(shop: Shop) -> None:
    page = await shop.visit("")
    await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.get_by_text("You are signed out.").first).to_be_visible()
    await expect(page.locator("textarea")).to_be_disabled()
    await page.context.add_cookies([{"name": "user", "value": "dora", "url": shop.url}])
    await page.evaluate("dispatchEvent(new Event('online'))")
    await expect(page.locator("textarea")).to_be_enabled()


async def test_a_visitor_who_signed_out_cannot_send(shop: Shop, line: Line) -> None:
    page = await shop.visit()
    await open_widget(page)
    await page.context.clear_cookies()
    line.drop()
    await expect(page.locator("textarea")).to_be_disabled()
    await expect(page.get_by_role("button", name="Where is my order?")).to_be_disabled()
    shop.problems.clear()


async def test_the_pages_own_styles_do_not_apply(shop: Shop) -> None:
    page = await shop.visit()
    before = await page.locator(".launcher").bounding_box()
    await page.evaluate(
        """() => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("body * { display: none !important; all: unset } html { font-size: 62.5% }"
                + "body { text-transform: uppercase; letter-spacing: 1em; visibility: hidden; direction: ltr }");
            document.adoptedStyleSheets = [sheet];
        }"""
    )
    assert await page.locator(".launcher").bounding_box() == before
    await open_widget(page)
    shown = await page.get_by_role("button", name="Where is my order?").evaluate(
        "(e) => [getComputedStyle(e).textTransform, getComputedStyle(e).letterSpacing, getComputedStyle(e).fontSize]"
    )
    assert shown == ["none", "normal", "15px"]
    await page.locator("tenant-assistant").evaluate("(e) => (e.hidden = true)")
    await expect(page.locator(PANEL)).to_be_hidden()


async def test_two_widgets_are_side_by_side_and_one_is_open_at_a_time(shop: Shop) -> None:
    page = await shop.visit(attributes="name=Ann")
    await page.evaluate(
        "document.body.append(Object.assign(document.querySelector('tenant-assistant').cloneNode(), {id: 'other'}))"
    )
    await page.locator("#other").evaluate("(e) => e.setAttribute('name', 'Bob')")
    buttons = page.locator(".launcher")
    boxes = [await buttons.nth(number).bounding_box() for number in range(2)]
    assert boxes[0] and boxes[1] and boxes[1]["x"] + boxes[1]["width"] < boxes[0]["x"]
    await buttons.nth(0).click()
    await expect(page.get_by_role("dialog")).to_have_accessible_name("Ann")
    await buttons.nth(1).click()
    await expect(page.get_by_role("dialog")).to_have_count(1)
    await expect(page.locator("#other textarea")).to_be_focused()


async def test_an_answer_joined_midway_is_complete_and_not_marked_as_cut_off(
    shop: Shop, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Half of ", gate, "it."])
    page = await shop.visit(attributes="inline")
    await expect(page.get_by_role("heading", name="Acme Support")).to_be_visible()
    await ask(page, "Talk")
    await expect(page.locator(".answer")).to_contain_text("Half of")
    # The site's own router draws the page anew, while the answer runs.
    await page.evaluate("(old => old.replaceWith(old.cloneNode()))(document.querySelector('tenant-assistant'))")
    joined = page.locator("tenant-assistant")
    await expect(joined.locator(".answer")).to_contain_text("Half of")
    gate.release()
    await expect(joined.locator(".answer")).to_have_text("Half of it.")
    await expect(joined.get_by_role("button", name="Send")).to_be_visible()
    await expect(joined.get_by_text("cut off")).to_have_count(0)


async def test_everything_works_with_the_keyboard(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.")
    page = await shop.visit()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    box = page.get_by_label("Message to Acme Support")
    await expect(box).to_be_focused()
    await page.keyboard.type("Are you there?")
    await page.keyboard.press("Enter")
    await done(page)
    await expect(page.get_by_role("status")).to_have_text("Answer complete. Yes.")
    await expect(box).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Open the assistant")).to_be_focused()


async def test_an_approval_is_asked_and_given(shop: Shop, cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time", "ask")
    fake_provider.reply("\n\n".join(["Well."] * 30))
    fake_provider.call("current_time", {})
    fake_provider.reply("It is nine.")
    page = await shop.visit()
    await open_widget(page)
    await ask(page, "Talk")
    await done(page)
    await ask(page, "What time is it?")
    await expect(page.get_by_role("button", name="Reject")).to_be_in_viewport(ratio=1)
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator(".answer").last).to_have_text("It is nine.")
    await expect(page.get_by_label("Message to Acme Support")).to_be_focused()


async def test_files_of_tools_are_shown_and_saved(shop: Shop, cast: Cast, fake_provider: FakeProvider) -> None:
    def keep(name: str, media_type: str, content: bytes) -> None:
        call = ToolCall.objects.get()
        fields = {"name": name, "media_type": media_type, "size": len(content), "data": content}
        ToolFile.objects.create(tenant=cast.acme, call=call, **fields)

    await sync_to_async(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    fake_provider.reply("Here it is.")
    page = await shop.visit()
    await open_widget(page)
    await ask(page, "Draw")
    await done(page)
    await sync_to_async(keep)("sales.png", "image/png", PIXEL)
    await sync_to_async(keep)("sales.html", "text/html", b"<script>alert(1)</script>")
    await page.reload()
    await open_widget(page)
    image = page.get_by_role("img", name="sales.png")
    await expect(image).to_be_visible()
    assert await image.evaluate("(e) => [e.src.startsWith('blob:'), e.naturalWidth]") == [True, 1]
    async with page.expect_download() as saved:
        await page.get_by_role("button", name="sales.html (25 bytes)").click()
    assert (await saved.value).suggested_filename == "sales.html"


async def test_a_revoked_key_disconnects_and_a_new_one_reconnects(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00:00Z")
    await expect(page.get_by_text("Connection lost. Reconnecting…").first).to_be_visible()
    await ApiKey.objects.aupdate(revoked_at=None)
    await expect(page.locator(".trouble")).to_be_hidden()
    shop.problems.clear()


@pytest.mark.timeout(600)
async def test_hostile_answers_run_nothing_and_request_nothing(
    shop: Shop, line: Line, fake_provider: FakeProvider
) -> None:
    page = await shop.visit(bypass_csp=True)
    watch = await Watch(shop.url, line.origin).over(page.context)
    await open_widget(page)

    async def say(page: Page, text: str) -> None:
        await ask(page, text)
        await done(page)

    count = await stream_all(page, fake_provider, say)
    await provoke(page, "tenant-assistant")
    await page.reload()
    await open_widget(page)
    await expect(page.locator(".answer")).to_have_count(count)
    await expect(page.locator(".answer .closed > *").last).to_be_attached()
    await provoke(page, "tenant-assistant")
    assert watch.findings == NOTHING
    links = await page.locator(".answer a").evaluate_all("all => all.map((one) => [one.rel, one.target])")
    assert {tuple(link) for link in links} == {("noopener noreferrer nofollow", "_blank")}


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_its_colours_have_contrast(theme: str, shop: Shop) -> None:
    page = await shop.visit(attributes=f"theme={theme}")
    await open_widget(page)
    colours = await page.locator(PANEL).evaluate(
        "(e) => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    )
    ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (ink < paper) is (theme == "light")
    assert abs(ink - paper) > 450


async def test_it_fits_a_phone(shop: Shop) -> None:
    page = await shop.visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    await open_widget(page)
    box = await page.locator(PANEL).bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)
    await page.get_by_label("Message to Acme Support").fill("Hello")
    await page.get_by_role("button", name="Send").tap()
    await expect(page.locator(".answer")).to_have_text("You said: Hello")
    await page.get_by_role("button", name="Attach files").tap(trial=True)
    await page.locator(f"{PANEL} .close").tap()
    await expect(page.get_by_role("button", name="Open the assistant")).to_be_focused()
