"""A ring beside the hint says how much of what the assistant reads of a conversation is used, from half of it on."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from assistant.models import Assistant, Conversation
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor, make_visitor
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PICTURES = os.environ.get("PICTURES", "")
LIMIT = 1_000
RING = ".context-gauge"
DRAWN_BY = "performance.getEntriesByType('resource').filter(({name}) => name.endsWith('/ring.js')).length"


@pytest.fixture(autouse=True)
def _limit(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(history_tokens=LIMIT)


async def picture(page: Page, name: str) -> None:
    """Take a picture, if somebody wants to look at it."""
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def say(page: Page, fake_provider: FakeProvider, tokens: int) -> None:
    """Have a question answered with about so many tokens."""
    fake_provider.reply("The light. " * (tokens * 4 // 11))
    await ask(page, "What is on the coast?")
    await answered(page)
    await expect(last_answer(page)).to_contain_text("The light.")


def gauge(page: Page) -> Locator:
    return page.locator(".context-ring")


async def test_it_appears_at_half_says_how_much_and_leads_to_a_new_conversation(
    page: Page, fake_provider: FakeProvider
) -> None:
    await say(page, fake_provider, 250)
    await expect(page.locator(".footer")).to_have_count(1)
    await page.wait_for_load_state("networkidle")
    await expect(page.locator(RING)).to_have_count(0)
    assert await page.evaluate(DRAWN_BY) == 0
    await say(page, fake_provider, 300)
    await expect(gauge(page)).to_have_accessible_name(re.compile(r"^[56]\d% of what this assistant reads is used\.$"))
    await gauge(page).focus()
    note = page.locator(".context-note")
    await expect(note).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(note).to_be_hidden()
    await gauge(page).click()
    await expect(note).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(note).to_be_hidden()
    await page.get_by_label("Message to").focus()
    await gauge(page).hover()
    await expect(note).to_be_hidden()
    await gauge(page).click()
    await picture(page, "gauge-light")
    await note.get_by_role("link", name="New conversation").click()
    await expect(page.get_by_role("heading", name="New conversation")).to_be_visible()
    await expect(page.locator(RING)).to_have_count(0)


async def test_it_says_when_older_messages_are_no_longer_read_or_summarised(
    page: Page, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.aupdate(history_messages=2)
    await say(page, fake_provider, 10)
    await say(page, fake_provider, 10)
    await expect(gauge(page)).to_have_accessible_name("Older messages are no longer read.")
    await expect(page.locator(f"{RING}.full .context-ring")).to_be_visible()
    await picture(page, "gauge-full")
    await Assistant.objects.aupdate(history_messages=0)
    await Conversation.objects.aupdate(summary="A light. " * 260, summarised_to=2)
    await page.reload()
    await expect(gauge(page)).to_have_accessible_name(re.compile(r"reads is used\. Older messages are summarised\.$"))
    await page.evaluate("document.querySelector('#summary-text').textContent = 'A shorter summary.'")
    await expect(gauge(page)).to_be_hidden()


async def test_it_fits_a_phone_and_reads_from_right_to_left(phone: Visitor, fake_provider: FakeProvider) -> None:
    page = await phone.open()
    await page.evaluate("document.documentElement.dir = 'rtl'")
    await say(page, fake_provider, 700)
    await gauge(page).tap()
    note = page.locator(".context-note")
    await expect(note).to_be_visible()
    assert await fits(page)
    await picture(page, "gauge-phone-rtl")
    box = await note.bounding_box()
    ring = await gauge(page).bounding_box()
    assert box and ring and box["x"] >= 0 and box["x"] + box["width"] <= 390 and ring["x"] < 100


async def test_it_is_opaque_in_the_dark(browser: Browser, site: Server, fake_provider: FakeProvider) -> None:
    visitor = await make_visitor(browser, site.url, color_scheme="dark")
    page = await visitor.open()
    await say(page, fake_provider, 700)
    await gauge(page).click()
    await expect(page.locator(".context-note")).to_have_css("opacity", "1")
    await picture(page, "gauge-dark")
    await visitor.context.close()


async def test_without_a_limit_there_is_none(page: Page, fake_provider: FakeProvider) -> None:
    await Assistant.objects.aupdate(history_tokens=0)
    await say(page, fake_provider, 900)
    await page.wait_for_load_state("networkidle")
    await expect(page.locator(RING)).to_have_count(0)
