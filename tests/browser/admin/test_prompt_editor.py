"""The editor of prompts in the browser: by keyboard, with few clicks, and nothing typed is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from assistant.models import PromptVersion
from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.chat.test_sending import check_nothing_is_locked_while_written
from tests.browser.conftest import Visitor
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def amys(browser: Browser, uvicorn_server: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, uvicorn_server.url, "amy", viewport={"width": 390, "height": 844})
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


async def published(cast: Cast) -> str:
    return (await PromptVersion.objects.aget(assistant=cast.support, status="published")).text


async def test_write_preview_publish_and_roll_back_on_a_phone(amys: Visitor, cast: Cast) -> None:
    page = await amys.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    text = page.get_by_label("Prompt", exact=True)
    await text.press("Control+End")
    await text.press_sequentially(" Greet ")
    await page.get_by_role("button", name="{{ user.name }}").click()
    await page.get_by_label("As", exact=True).fill("alice")
    await page.get_by_label("As", exact=True).press("Enter")
    await expect(page.get_by_role("region", name="Preview for alice")).to_contain_text("user.name: alice")
    await expect(text).to_have_value("You are Acme's support assistant. Greet {{ user.name }}")
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    await expect(page.locator("[data-length]")).to_have_text("14")
    await page.get_by_role("button", name="Save and publish").press("Enter")
    asked = page.get_by_role("region", name="Publish what you typed?")
    await expect(asked).to_be_focused()
    await expect(asked.locator("ins")).to_contain_text("Greet")
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    await asked.get_by_role("button", name="Publish now").press("Enter")
    await expect(page.locator(".messagelist")).to_contain_text("Version 2 of Support")
    assert (await published(cast)).endswith("Greet {{ user.name }}")
    await text.fill("Half a thought")
    await page.get_by_role("button", name="Roll back to this v1").click()
    await expect(text).to_have_value("Half a thought")
    await page.get_by_role("button", name="Publish now").click()
    await expect(page.locator(".messagelist")).to_contain_text("Version 1 of Support")
    await expect(text).to_have_value("Half a thought")
    assert await published(cast) == "You are Acme's support assistant."


async def test_unsaved_text_is_not_left_without_a_question(amys: Visitor, cast: Cast) -> None:
    page = await amys.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    await page.get_by_label("Prompt", exact=True).press_sequentially("Half a thought. ")
    async with page.expect_event("dialog") as asked:
        await page.evaluate("setTimeout(() => location.assign('/admin/'))")
    dialog = await asked.value
    assert dialog.type == "beforeunload"
    await dialog.accept()


async def test_a_long_prompt_is_deleted_at_once(amys: Visitor, cast: Cast) -> None:
    page = await amys.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    await check_nothing_is_locked_while_written(page.get_by_label("Prompt", exact=True))
