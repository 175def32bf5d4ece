"""A temporary conversation says so, is in no list, and is deleted when it is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, Route, expect

from assistant.models import Assistant, Conversation
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
BUTTON = "Temporary conversation"


@pytest.fixture(autouse=True)
def _allowed(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(extensions=["temporary"])


async def begun(page: Page, fake_provider: FakeProvider) -> None:
    await page.get_by_role("button", name=BUTTON).click()
    await expect(page.locator(".temporary-note")).to_contain_text("deleted when you leave it")
    fake_provider.reply("A red lighthouse.")
    await ask(page, "What is on the coast?")
    await answered(page)
    await expect(last_answer(page)).to_have_text("A red lighthouse.")


async def is_gone() -> bool:
    return not await Conversation.objects.aexists()


async def leave_for_a_new_one(page: Page) -> None:
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(page.get_by_role("button", name=BUTTON)).to_be_visible()


async def load_again(page: Page) -> None:
    await page.reload()


@pytest.mark.parametrize("leave", [leave_for_a_new_one, load_again])
async def test_it_is_gone_when_it_is_left(
    leave: Callable[[Page], Awaitable[None]], page: Page, fake_provider: FakeProvider
) -> None:
    await begun(page, fake_provider)
    await expect(page.get_by_role("button", name=BUTTON)).to_have_count(0)
    await expect(page.locator(".temporary-note")).to_be_visible()
    await expect(page.locator(".conversation")).to_have_count(0)
    await leave(page)
    for _step in range(200):
        if await is_gone():
            break
        await page.wait_for_timeout(20)
    assert await is_gone()


async def test_pressed_again_the_conversation_is_kept(phone: Visitor, fake_provider: FakeProvider) -> None:
    page = await phone.open()
    button = page.get_by_role("button", name=BUTTON)
    await button.tap()
    await expect(button).to_have_attribute("aria-pressed", "true")
    assert await fits(page)
    await button.tap()
    await expect(page.locator(".temporary-note")).to_be_hidden()
    fake_provider.reply("A red lighthouse.")
    await ask(page, "What is on the coast?")
    await answered(page)
    conversation = await Conversation.objects.aget()
    assert not conversation.is_temporary


async def test_a_conversation_that_begins_while_the_button_is_loaded_has_none(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    """On a slow line: it is stored, so nothing may offer to make it a temporary one."""
    held: list[Route] = []

    async def hold(route: Route) -> None:
        held.append(route)

    await alice_browser.context.route("**/temporary.js", hold)
    page = await alice_browser.open()
    fake_provider.reply("A red lighthouse.")
    await ask(page, "What is on the coast?")
    await answered(page)
    async with page.expect_response("**/temporary.js"):
        await held[0].continue_()
    await expect(page.locator(".temporary")).to_be_attached()
    await expect(page.get_by_role("button", name=BUTTON)).to_have_count(0)


async def test_an_assistant_without_the_addition_has_no_button(page: Page, cast: Cast) -> None:
    await sync_to_async(Assistant.objects.update)(extensions=[])
    await page.reload()
    await expect(page.get_by_label("Message to")).to_be_visible()
    await expect(page.get_by_role("button", name=BUTTON)).to_have_count(0)
