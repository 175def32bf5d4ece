"""The chat page: themes, sizes, keyboard, screen readers, the list of conversations."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.models import Conversation, Membership
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor, make_visitor
from tests.factories import make_assistant, make_conversation, make_message, make_run
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
COUNT_ANNOUNCEMENTS = """() => {
    window.heard = [];
    const status = document.querySelector("[role=status]");
    const observer = new MutationObserver(() => heard.push(status.textContent));
    observer.observe(status, {childList: true, characterData: true, subtree: true});
}"""
FETCHED_MODULES = """performance.getEntriesByType("resource").map(entry => entry.name)
    .filter(name => name.endsWith(".js") && !document.querySelector(`script[src="${new URL(name).pathname}"]`))"""
DARK, LIGHT = "rgb(23, 22, 20)", "rgb(251, 250, 247)"


async def test_all_modules_are_fetched_at_once(page: Page) -> None:
    """On a slow line each level of imports that the page does not name costs a round trip."""
    await page.wait_for_load_state("networkidle")
    fetched = await page.evaluate(FETCHED_MODULES)
    named = await page.evaluate("[...document.querySelectorAll('[rel=modulepreload]')].map(link => link.href)")
    assert len(named) == len(set(named)) > 25
    # What the microphone of `dictation` needs comes after the page is there.
    later = {name for name in fetched if "/dictation/" in name or name.endswith("/js/styles.js")}
    assert set(fetched) - later == set(named)


async def test_a_first_visit_is_small(alice_browser: Visitor, cast: Cast) -> None:
    """With the 50 conversations that the list shows: the page itself, and all that it fetches, with headers."""
    for number in range(50):
        await sync_to_async(make_conversation)(cast.alice, cast.support, title=f"Customer {number * 7919 % 997}")
    page = await alice_browser.context.new_page()
    client = await alice_browser.context.new_cdp_session(page)
    kinds: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    client.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))

    def finished(event: dict[str, Any]) -> None:
        sizes.update({kinds[event["requestId"]]: event["encodedDataLength"]})

    client.on("Network.loadingFinished", finished)
    await client.send("Network.enable")
    await page.goto(f"{alice_browser.origin}/t/acme/", wait_until="networkidle")
    await expect(page.locator(".conversation")).to_have_count(50)
    assert {"Document", "Script", "Stylesheet", "Font"} <= set(sizes), sizes
    assert sizes["Document"] <= 15_000, sizes
    assert sizes.total() <= 150_000, sizes


async def test_the_page_follows_the_systems_appearance(browser: Browser, site: Server) -> None:
    for scheme, colour in (("dark", DARK), ("light", LIGHT)):
        visitor = await make_visitor(browser, site.url, color_scheme=scheme)
        page = await visitor.open()
        assert await page.evaluate(BACKGROUND) == colour
        await visitor.context.close()


async def test_the_chosen_appearance_is_kept(page: Page) -> None:
    await page.get_by_label("Appearance").click()
    await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate(BACKGROUND) == DARK
    await page.reload()
    assert await page.evaluate(BACKGROUND) == DARK
    await page.get_by_label("Appearance").click()
    await expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")


async def test_a_phone_shows_everything_within_its_width(phone: Visitor, fake_provider: FakeProvider) -> None:
    page = await phone.open()
    assert await fits(page)
    table = "| " + " | ".join(["column"] * 12) + " |\n|" + "---|" * 12 + "\n\n"
    wide = table + "```\n" + "x" * 400 + "\n```\n\n" + "y" * 400
    fake_provider.call("calculate", {"expression": "1+" * 100 + "1"})
    fake_provider.reply(wide)
    await ask(page, "z" * 300)
    await answered(page)
    assert await fits(page)


async def test_the_list_is_a_drawer_on_a_phone(phone: Visitor) -> None:
    page = await phone.open()
    await expect(page.get_by_role("searchbox")).not_to_be_visible()
    await page.get_by_role("button", name="Open the list of conversations").tap()
    await expect(page.get_by_role("searchbox")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("searchbox")).not_to_be_visible()
    await expect(page.get_by_role("button", name="Open the list of conversations")).to_be_focused()


async def test_escape_closes_the_drawer_before_it_stops_the_answer(phone: Visitor, fake_provider: FakeProvider) -> None:
    page = await phone.open()
    fake_provider.reply(chunks=["Two lines", fake_provider.gate()])
    await ask(page, "Speak")
    await expect(last_answer(page)).to_have_text("Two lines")
    await page.get_by_role("button", name="Open the list of conversations").tap()
    await expect(page.get_by_role("searchbox")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("searchbox")).not_to_be_visible()
    await expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()


async def test_the_keyboard_is_enough(page: Page, fake_provider: FakeProvider) -> None:
    box = page.get_by_label("Message to")
    await expect(box).to_be_focused()
    fake_provider.reply(chunks=["Two lines", fake_provider.gate()])
    await page.keyboard.type("First")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("Second")
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.user .bubble")).to_have_text("First\nSecond")
    await expect(box).to_have_value("")
    await expect(last_answer(page)).to_have_text("Two lines")
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    await expect(box).to_be_focused()


async def test_a_question_is_closer_to_its_answer_than_to_the_one_before(
    page: Page, fake_provider: FakeProvider
) -> None:
    for number in ("One", "Two"):
        fake_provider.reply(f"{number}.")
        await ask(page, f"{number}?")
        await answered(page)
    await expect(page.locator(".footer")).to_have_count(2)
    bubble, answer = page.locator(".bubble").last, last_answer(page)
    above, own, below = [
        await one.evaluate("element => element.getBoundingClientRect().toJSON()")
        for one in (page.locator(".footer").first, bubble, answer)
    ]
    assert 0 <= below["top"] - own["bottom"] < own["top"] - above["bottom"]


async def test_screen_readers_hear_the_end_of_an_answer_and_no_token(page: Page, fake_provider: FakeProvider) -> None:
    log, status = page.get_by_role("log"), page.get_by_role("status")
    await expect(log).to_have_attribute("aria-live", "off")
    await page.evaluate(COUNT_ANNOUNCEMENTS)
    fake_provider.reply("".join(f"w{number} " for number in range(200)))
    await ask(page, "Speak")
    await expect(status).to_contain_text("Answer complete.")
    assert await page.evaluate("heard.length") <= 4


async def test_the_transcript_scrolls_only_while_the_reader_is_at_its_end(
    page: Page, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["line\n\n" * 80, gate, "more\n\n" * 40])
    await ask(page, "Much")
    await expect(page.locator(".closed > p")).to_have_count(80)
    await page.mouse.move(600, 400)
    await page.mouse.wheel(0, -1500)
    jump = page.get_by_role("button", name="Jump to latest")
    await expect(jump).to_be_visible()
    # The browser takes some frames to get there.
    await page.wait_for_function("document.querySelector('#scroller').scrollTop === 0")
    gate.release()
    await answered(page)
    assert await page.evaluate("document.querySelector('#scroller').scrollTop") == 0
    await jump.click()
    await expect(jump).not_to_be_visible()
    await expect(page.locator(".closed > p").last).to_be_in_viewport()


@pytest.fixture
def two_talks(cast: Cast) -> None:
    for title, text in (("Refund of an order", "The parcel was lost"), ("Holiday plans", "When is the office closed?")):
        talk = make_conversation(cast.alice, cast.support, title=title)
        run = make_run(talk, ending={"type": "RUN_FINISHED", "threadId": str(talk.pk), "runId": "r"}, checkpoint_seq=9)
        make_message(talk, "user", text, run=run)


@pytest.mark.usefixtures("two_talks")
async def test_conversations_are_found_by_what_was_said_in_them(page: Page) -> None:
    items = page.locator("#conversations .title")
    await expect(items).to_have_count(2)
    await page.get_by_role("searchbox").fill("parcel")
    await expect(items).to_have_text(["Refund of an order"])
    await page.get_by_role("searchbox").fill("zebra")
    await expect(page.get_by_text("No conversation mentions “zebra”.")).to_be_visible()


@pytest.mark.usefixtures("two_talks")
async def test_a_conversation_can_be_renamed(page: Page) -> None:
    await page.get_by_role("button", name="Rename “Holiday plans”").click()
    await page.get_by_label("New title").fill("Days off")
    await page.keyboard.press("Enter")
    await expect(page.locator("#conversations .title").filter(has_text="Days off")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("link", name="Days off")).to_be_visible()


@pytest.mark.usefixtures("two_talks")
async def test_a_deleted_conversation_can_be_taken_back_until_the_page_is_left(page: Page) -> None:
    button = page.get_by_role("button", name="Delete “Holiday plans”")
    titles = page.locator("#conversations .conversation:visible .title")
    await button.click()
    await expect(titles).to_have_text(["Refund of an order"])
    await page.get_by_role("button", name="Undo").click()
    await expect(titles).to_have_count(2)
    await button.click()
    await expect(titles).to_have_text(["Refund of an order"])
    await page.goto("about:blank")
    while await Conversation.objects.filter(title="Holiday plans").aexists():
        await asyncio.sleep(0.05)


@pytest.mark.usefixtures("two_talks")
async def test_a_stored_conversation_is_opened_from_the_list(page: Page) -> None:
    await page.get_by_role("link", name="Refund of an order").click()
    await expect(page.locator(".turn.user .bubble")).to_have_text("The parcel was lost")
    await expect(page.get_by_role("heading", name="Refund of an order")).to_be_visible()


async def test_a_member_of_several_organisations_can_switch_between_them(page: Page, cast: Cast) -> None:
    await sync_to_async(Membership.objects.create)(tenant=cast.globex, user=cast.alice)
    await page.reload()
    await page.locator(".tenant summary").click()
    await page.get_by_role("link", name="Globex").click()
    await page.wait_for_url("**/t/globex/")
    await expect(page.locator(".tenant summary")).to_contain_text("Globex")


async def test_the_menu_of_organisations_closes_by_escape_and_by_a_press_outside(page: Page, cast: Cast) -> None:
    await sync_to_async(Membership.objects.create)(tenant=cast.globex, user=cast.alice)
    await page.reload()
    summary, entry = page.locator(".tenant summary"), page.get_by_role("link", name="Globex")
    await summary.click()
    await expect(entry).to_be_visible()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Escape")
    await expect(entry).to_be_hidden()
    await expect(summary).to_be_focused()
    await summary.click()
    await expect(entry).to_be_visible()
    await page.locator("#scroller").click()
    await expect(entry).to_be_hidden()


async def test_a_new_conversation_can_be_with_another_assistant(page: Page, cast: Cast) -> None:
    await sync_to_async(make_assistant)(cast.acme, "coach", name="Sales Coach")
    await page.reload()
    await page.get_by_role("link", name="Sales Coach").click()
    await expect(page.get_by_role("heading", name="How can Sales Coach help?")).to_be_visible()
    await expect(page.get_by_label("Message to Sales Coach")).to_be_visible()
