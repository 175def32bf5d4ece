"""A refused call's card offers to ask for the tool; the answer stands above the message box, and can be put away."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.tool_requests.models import ToolRequest
from assistant.services.toolpolicy.blocks import block_tool, unblock_tool
from tests.base import Cast
from tests.browser.acts import answered, fits
from tests.browser.conftest import make_visitor
from tests.contrib.tool_requests.test_answering import answer_over_http
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PICTURES = os.environ.get("PICTURES", "")


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def test_a_refused_tool_is_asked_for_and_the_answer_comes_back(
    page: Page, site: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time", "off")
    fake_provider.call("current_time", {})
    fake_provider.reply("I may not look at the clock.")
    await page.get_by_label("Message to").fill("What time is it?")
    await page.keyboard.press("Enter")
    await answered(page)
    await expect(page.locator(".answer")).to_have_count(1)
    await page.locator("details.tool > summary").click()
    await page.locator(".tool .offer").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Tool")).to_have_value("current_time")
    await expect(dialog.locator("q")).to_have_text("What time is it?")
    await dialog.get_by_label("What for?").fill("To know when the shop closes")
    await picture(page, "ask-dialog")
    assert await fits(page)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    card = page.locator(".tool-answer")
    await expect(card).to_contain_text("Waits for an answer")
    row = await ToolRequest.objects.aget()
    await answer_over_http(site, cast.amy, row, do="on", answer="From today on")
    await expect(card).to_contain_text("Yes: From today on (amy)")
    await picture(page, "ask-answered")
    await page.reload()
    await expect(card).to_contain_text("Yes: From today on (amy)")
    await card.get_by_role("button", name="Read").click()
    await expect(card).to_have_count(0)


async def test_it_fits_a_phone_in_arabic_and_dark(
    browser: Browser, site: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time", "off")
    fake_provider.call("current_time", {})
    fake_provider.reply("I may not look at the clock.")
    size = {"width": 390, "height": 780}
    visitor = await make_visitor(browser, site.url, viewport=size, locale="ar", color_scheme="dark")
    page = await visitor.open()
    await page.locator("#message").fill("What time is it?")
    await page.locator("#send").click()
    await expect(page.locator("details.tool")).to_have_attribute("data-state", "refused")
    await page.locator("details.tool > summary").click()
    await page.locator(".tool .offer").click()
    await expect(page.locator("#ask-for-tool-tool")).to_have_value("current_time")
    await picture(page, "ask-phone-ar")
    assert await fits(page)
    await page.locator("#ask-for-tool-form .primary").click()
    await expect(page.locator(".tool-answer")).to_be_visible()
    await picture(page, "asked-phone-ar")
    assert await fits(page)
    await visitor.context.close()
    assert visitor.problems == []


async def test_open_chats_say_in_one_line_that_a_tool_which_they_could_use_went_off_and_came_back(
    page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time")
    fake_provider.reply("Hello")
    await page.get_by_label("Message to").fill("Hi")
    await page.keyboard.press("Enter")
    await answered(page)
    await expect(page.locator(".answer")).to_have_count(1)
    await sync_to_async(block_tool)(actor=None, tool="current_time", reason="The clock runs late")
    lines = page.locator("#transcript")
    await expect(lines.get_by_text(re.compile("is switched off: The clock runs late"))).to_have_count(1)
    await picture(page, "tool-off-line")
    await sync_to_async(unblock_tool)(actor=None, tool="current_time")
    await expect(lines.get_by_text(re.compile("can be used again"))).to_have_count(1)
