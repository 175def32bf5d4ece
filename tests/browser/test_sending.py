"""Sending a message in the page and in the widget: double clicks, input methods, messages that are too long."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.acts import answered, last_answer
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_a_double_click_on_send_sends_and_does_not_stop(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Here ", gate, "it is."])
    await page.get_by_label("Message to").fill("Hi")
    await page.get_by_role("button", name="Send").dblclick()
    await expect(last_answer(page)).to_have_text("Here")
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_have_text("Here it is.")
    await expect(page.get_by_text("Stopped.")).to_have_count(0)
    await expect(page.get_by_label("Message to")).to_have_value("")


async def test_a_double_click_in_the_widget_sends_and_does_not_stop(shop: Shop, fake_provider: FakeProvider) -> None:  # noqa: F811
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Here ", gate, "it is."])
    page = await shop.visit()
    await open_widget(page)
    await page.get_by_label("Message to Acme Support").fill("Hi")
    await page.get_by_role("button", name="Send").dblclick()
    await expect(page.locator(".answer")).to_have_text("Here")
    gate.release()
    await answered(page)
    await expect(page.locator(".answer")).to_have_text("Here it is.")
    await expect(page.get_by_text("Stopped.")).to_have_count(0)
