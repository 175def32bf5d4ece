"""Files that are being uploaded while another conversation is opened."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.acts import answered, ask, last_answer
from tests.browser.chat.test_attachments import TEXT, chips, choose
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def held(page: Page) -> asyncio.Event:
    """Hold uploads until the event that is returned is set."""
    release = asyncio.Event()

    async def hold(route: Route) -> None:
        if route.request.method == "POST":
            await release.wait()
        await route.continue_()

    await page.route("**/attachments/", hold)
    return release


@pytest.mark.parametrize("is_back_first", [True, False])
async def test_they_are_in_the_draft_when_it_is_opened_again(
    is_back_first: bool, page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Apples.")
    await ask(page, "What is there?")
    await answered(page)
    release = await held(page)
    await choose(page, TEXT)
    await page.get_by_label("Message to").fill("How long?")
    await expect(chips(page)).to_have_attribute("data-state", "uploading")
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(page.get_by_role("heading", name="How can Acme Support help?")).to_be_visible()
    await expect(chips(page)).to_have_count(0)
    if not is_back_first:
        async with page.expect_response("**/attachments/"):
            release.set()
    await page.go_back()
    await expect(last_answer(page)).to_have_text("Apples.")
    await expect(chips(page)).to_have_text("returns.txt12 bytes")
    release.set()
    await expect(chips(page)).to_have_attribute("data-state", "done")
    await expect(page.get_by_label("Message to")).to_have_value("How long?")
    if not is_back_first:
        await page.reload()
        await expect(chips(page)).to_have_attribute("data-state", "done")
    fake_provider.reply("Thirty days.")
    await page.get_by_role("button", name="Send").click()
    await expect(last_answer(page)).to_have_text("Thirty days.")
    assert "Thirty days." in fake_provider.requests[-1].json["messages"][-1]["content"]
    await expect(chips(page)).to_have_count(0)
