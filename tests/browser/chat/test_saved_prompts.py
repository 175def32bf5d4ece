"""A slash at the beginning of the message box offers saved prompts; a small form asks for their variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from assistant.contrib.saved_prompts.models import SavedPrompt
from tests.base import Cast
from tests.browser.acts import answered, fits, questions
from tests.browser.conftest import Visitor
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture(autouse=True)
def _saved(cast: Cast) -> None:
    def save(name: str, text: str, **fields: Any) -> None:
        SavedPrompt.objects.create(tenant=cast.acme, name=name, text=text, **fields)

    save("Complaint", "Write to {{ customer }} about {{ matter }}.", description="Apologises once")
    save("Morning report", "What happened since yesterday?", user=cast.alice)
    save("Amy's own", "Nobody else's", user=cast.amy)


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def uses(name: str) -> int:
    return (await SavedPrompt.objects.aget(name=name)).uses


async def test_a_slash_puts_a_prompt_into_the_box_and_enter_does_not_send_it(page: Page) -> None:
    box = page.get_by_label("Message to")
    await box.press_sequentially("/")
    options = page.get_by_role("option")
    await expect(options).to_have_text(["ComplaintApologises once", "Morning report"])
    active = await options.first.get_attribute("id")
    await expect(box).to_have_attribute("aria-activedescendant", str(active))
    await picture(page, "prompts-offered")
    await box.press_sequentially("mor")
    await expect(options).to_have_count(1)
    await box.press("Enter")
    await expect(box).to_have_value("What happened since yesterday?")
    await expect(box).to_be_focused()
    await expect(questions(page)).to_have_count(0)
    assert await uses("Morning report") == 1


async def test_variables_are_asked_for_and_the_text_can_be_sent(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Dear Ms Weber, I am sorry.")
    box = page.get_by_label("Message to")
    await box.press_sequentially("/comp")
    await page.get_by_role("option", name="Complaint").click()
    form = page.get_by_role("group", name="Complaint")
    await expect(form.get_by_label("customer")).to_be_focused()
    await page.keyboard.type("Ms Weber")
    await page.keyboard.press("Enter")  # the next one is still empty
    await expect(form.get_by_label("matter")).to_be_focused()
    await picture(page, "prompt-form")
    await page.keyboard.type("a torn tent")
    await page.keyboard.press("Enter")
    await expect(box).to_have_value("Write to Ms Weber about a torn tent.")
    await expect(form).to_have_count(0)
    await box.press("Enter")
    await answered(page)
    await expect(questions(page)).to_have_text("Write to Ms Weber about a torn tent.")
    assert await uses("Complaint") == 1


async def test_escape_leaves_the_form_and_then_the_list(page: Page) -> None:
    box = page.get_by_label("Message to")
    await box.press_sequentially("/comp")
    await expect(page.get_by_role("option")).to_have_count(1)
    await box.press("Enter")
    await expect(page.get_by_role("group", name="Complaint")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(box).to_be_focused()
    await expect(page.get_by_role("group", name="Complaint")).to_have_count(0)
    assert await uses("Complaint") == 0
    await box.press_sequentially("l")
    await expect(page.get_by_role("option")).to_have_count(1)
    await box.press("Escape")
    await expect(page.get_by_role("option")).to_have_count(0)
    await expect(box).to_have_value("/compl")


async def test_a_slash_anywhere_else_is_a_slash(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("A path.")
    box = page.get_by_label("Message to")
    async with page.expect_response(lambda answer: "/saved_prompts/prompts.js" in answer.url):
        await box.press_sequentially("What is /etc/hosts")
    await box.press("Enter")
    await answered(page)
    await expect(questions(page)).to_have_text("What is /etc/hosts")
    await expect(page.get_by_role("option")).to_have_count(0)


async def test_nothing_of_it_is_loaded_before_a_slash(page: Page) -> None:
    await page.get_by_label("Message to").press_sequentially("Hello")
    loaded = await page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    assert not [name for name in loaded if "saved_prompts" in name or "suggestions" in name]


async def test_the_page_of_prompts_makes_and_changes_them(alice_browser: Visitor, cast: Cast) -> None:
    page = await alice_browser.open("/t/acme/prompts/")
    form = page.locator("form.stack")
    await expect(form.get_by_label("For everybody")).to_have_count(0)  # Alice is no admin
    await form.get_by_label("name").fill("Thanks")
    await form.get_by_label("text").fill("Thank {{ customer }}.")
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").first).to_have_text("“Thanks” is saved.")
    await page.locator("summary", has_text="Thanks").click()
    await picture(page, "prompts-page")
    await page.get_by_role("link", name="Change").click()
    await page.get_by_role("button", name="Delete").click()
    await expect(page.locator("summary", has_text="Thanks")).to_have_count(0)
    assert await sync_to_async(SavedPrompt.objects.filter(user=cast.alice).count)() == 1


async def test_on_a_phone_it_fits(phone: Visitor) -> None:
    page = await phone.open()
    box = page.get_by_label("Message to")
    await box.press_sequentially("/")
    await expect(page.get_by_role("option")).to_have_count(2)
    await picture(page, "prompts-phone")
    await page.get_by_role("option").first.tap()
    await expect(page.get_by_role("group", name="Complaint")).to_be_visible()
    await picture(page, "prompt-form-phone")
    assert await fits(page)
