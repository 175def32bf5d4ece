"""Forms that are longer than the transcript: their question is in sight, and what is filled in does not move away."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.base import Cast
from tests.browser.acts import ask
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
LONG: dict[str, Any] = {
    "question": "Who comes along?",
    "fields": [{"name": f"guest{number}", "label": f"Guest {number}", "kind": "text"} for number in range(1, 11)],
}


async def see_question_and_first_mistake(page: Page) -> None:
    question, first = page.locator(".approval .question"), page.locator(".approval input").first
    await expect(question).to_have_text("Who comes along?")
    await expect(first).to_be_focused()
    await expect(question).to_be_in_viewport()
    await page.get_by_label("Guest 3").fill("Lena")
    await page.get_by_role("button", name="Answer", exact=True).click()
    await expect(page.get_by_role("alert").filter(has_text="This is needed.")).to_have_count(9)
    await expect(first).to_be_focused()
    await expect(first).to_be_in_viewport()


async def test_the_question_of_a_long_form_is_in_sight(page: Page, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    await page.set_viewport_size({"width": 900, "height": 600})
    fake_provider.call("ask_user", LONG)
    await ask(page, "Book a table.\n" * 30)
    await expect(page.locator(".approval .question")).to_be_in_viewport()
    await see_question_and_first_mistake(page)
    await page.reload()
    await expect(page.locator(".approval .question")).to_be_in_viewport()


async def test_the_question_of_a_long_form_is_in_sight_in_the_widget(
    shop: Shop, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    fake_provider.call("ask_user", LONG)
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Book a table")
    await see_question_and_first_mistake(page)


async def test_who_has_read_a_form_to_its_end_is_not_led_back(
    phone: Visitor, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    page = await phone.open()
    fake_provider.call("ask_user", LONG)
    await ask(page, "Book a table")
    answer = page.get_by_role("button", name="Answer", exact=True)
    await expect(answer).to_be_attached()
    await page.locator("#scroller").evaluate("(one) => one.scrollTo(0, one.scrollHeight)")
    await expect(answer).to_be_in_viewport()
    await answer.tap()
    await expect(page.get_by_role("alert").filter(has_text="This is needed.")).to_have_count(10)


async def test_the_way_to_the_end_leads_from_a_forms_beginning_on_and_goes_when_only_room_is_left(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    await page.set_viewport_size({"width": 900, "height": 600})
    fake_provider.call("ask_user", LONG)
    await ask(page, "Book a table")
    await expect(page.get_by_label("Guest 1", exact=True)).to_be_focused()
    jump, answer = (
        page.get_by_role("button", name="Jump to latest"),
        page.get_by_role("button", name="Answer", exact=True),
    )
    for _press in range(2):
        if await jump.is_visible():
            await jump.click()
    await expect(answer).to_be_in_viewport()
    for number in range(1, 11):
        await page.get_by_label(f"Guest {number}", exact=True).fill("Lena")
    fake_provider.reply("Booked.")
    await answer.click()
    await expect(page.locator(".answer")).to_have_text("Booked.")
    await expect(page.locator(".footer")).to_be_in_viewport()
    await page.locator("#scroller").evaluate("(one) => one.scrollTo(0, 0)")
    await expect(page.locator(".footer")).to_be_in_viewport()
    await expect(jump).to_be_hidden()


async def test_the_name_of_a_tool_is_read_whole_in_a_narrow_window(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    await page.set_viewport_size({"width": 320, "height": 640})
    fake_provider.call("ask_user", LONG)
    await ask(page, "Book a table")
    name = page.locator(".tool > summary > .tool-name")
    await expect(name).to_have_text("Ask a question")
    assert await name.evaluate("(one) => one.scrollWidth <= one.clientWidth")
