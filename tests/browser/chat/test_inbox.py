"""What waits elsewhere is in the rows of the list, the title, the icon of the tab and the page of the inbox."""

from __future__ import annotations

import re

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.browser.conftest import Visitor
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def has_icon(shown: Page, name: str) -> None:
    """Wait until the tab has an icon: it is changed after the list and the title."""
    await expect(shown.locator("link[rel=icon]")).to_have_attribute("href", re.compile(rf"/{name}\.[^/]*$"))


async def test_an_answer_elsewhere_runs_is_new_and_was_seen(
    page: Page, alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One ", gate, "two."])
    await ask(page, "Count for me")
    row = page.locator(".conversation", has_text="Count for me")
    await expect(row).to_have_attribute("data-state", "running")
    await page.locator(".new-chat").click()
    other = await alice_browser.open()
    for shown in (page, other):
        await expect(shown.locator(".conversation .row-state")).to_have_text("Being answered")
        await has_icon(shown, "running")
    gate.release()
    for shown in (page, other):
        await expect(shown.locator(".conversation .row-state")).to_have_text("New answer")
        await expect(shown).to_have_title("(1) Acme · Tenant Assistant")
        await expect(shown.locator(".place .count")).to_have_text("1")
        await has_icon(shown, "new")
    await page.reload()
    await expect(page).to_have_title("(1) Acme · Tenant Assistant")
    await row.locator("a").click()
    await answered(page)
    for shown in (page, other):
        await expect(shown.locator(".row-state")).to_have_count(0)
        await expect(shown.locator(".place .count")).to_be_hidden()
        await has_icon(shown, "icon")
    await expect(other).to_have_title("Acme · Tenant Assistant")


async def test_the_page_lists_what_needs_somebody_and_follows_it(
    page: Page, alice_browser: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "update_customer", policy="ask")
    inbox = await alice_browser.open("/t/acme/inbox/")
    await expect(inbox.locator(".page-empty")).to_be_visible()
    fake_provider.call("update_customer", {"customer_id": 1, "email": "new@example.com"})
    await ask(page, "Change the address")
    entry = inbox.locator("#inbox [data-state=needs]")
    await expect(entry).to_contain_text("Change a customer")
    await expect(inbox).to_have_title("(1) Inbox · Acme · Tenant Assistant")
    await has_icon(inbox, "needs")
    # Whoever has it before their eyes need not be called back to it.
    assert not (await page.title()).startswith("(")
    await entry.click()
    await expect(inbox.locator(".tool[data-state=awaiting_approval]").first).to_be_visible()


async def test_nothing_of_it_is_loaded_while_nothing_waits(page: Page) -> None:
    await expect(page.locator(".place")).to_be_visible()
    loaded = await page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    assert not [name for name in loaded if "/inbox/" in name]
