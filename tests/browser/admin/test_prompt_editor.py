"""The editor of prompts in the browser: by keyboard, with few clicks, and nothing typed is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from assistant.models import PromptVersion
from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.chat.test_sending import check_nothing_is_locked_while_written
from tests.browser.conftest import Visitor
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def amys(browser: Browser, uvicorn_server: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, uvicorn_server.url, "amy", viewport={"width": 390, "height": 844})
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def roots(browser: Browser, site: Server, cast: Cast) -> AsyncIterator[Visitor]:
    """The browser of an operator, who is a member of no tenant."""
    visitor = await enter(browser, site.url, "root", viewport={"width": 1366, "height": 768})
    yield visitor
    await visitor.context.close()


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


def shown_in_try(page: Page, kind: str) -> Locator:
    return page.locator(f"#try-said .{kind}")


async def try_asking(page: Page, text: str) -> None:
    await page.get_by_label("Question").fill(text)
    await page.get_by_label("Question").press("Enter")


async def test_a_try_is_of_the_member_who_was_chosen_when_it_was_asked(
    roots: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    page = await roots.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    who = page.locator("#try-user")
    await who.fill("alice")
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["At ", gate, "nine."])
    await try_asking(page, "When do you open?")
    await asyncio.to_thread(gate.wait_reached)
    # Nobody can do this while the field is off; even so the answer is signed with who was asked as.
    await who.evaluate("field => { field.value = 'mallory'; }")
    was_off = await who.is_disabled()
    gate.release()
    answer = shown_in_try(page, "answer")
    await expect(answer).to_contain_text("At nine.")
    await expect(answer.locator("small")).to_contain_text("alice")
    assert was_off
    await expect(who).to_be_enabled()
    await who.fill("amy")
    await who.press("Enter")
    await expect(page.get_by_label("Question")).to_be_focused()
    await expect(answer).to_have_count(0)
    fake_provider.reply("At ten.")
    await try_asking(page, "And on Sundays?")
    await expect(answer.locator("small")).to_contain_text("amy")
    await who.evaluate("field => { field.value = 'alice'; }")  # of which the page is told nothing
    fake_provider.reply("At eleven.")
    await try_asking(page, "And on Mondays?")
    await expect(answer).to_have_count(1)
    await expect(answer.locator("small")).to_contain_text("alice")
    asked = [[one["content"] for one in request.messages[1:]] for request in fake_provider.requests[-2:]]
    assert asked == [["And on Sundays?"], ["And on Mondays?"]]


async def test_enter_in_the_field_of_the_member_saves_nothing(roots: Visitor, cast: Cast) -> None:
    page = await roots.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    await page.get_by_label("Prompt", exact=True).fill("Half a thought")
    await page.locator("#try-user").fill("alice")
    await page.locator("#try-user").press("Enter")
    await expect(page.get_by_label("Question")).to_be_focused()
    assert await PromptVersion.objects.filter(assistant=cast.support).acount() == 1


async def test_a_try_as_nobody_says_what_is_missing(roots: Visitor, cast: Cast) -> None:
    page = await roots.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    await page.locator("#try-user").fill("")
    await try_asking(page, "When do you open?")
    await expect(shown_in_try(page, "problem")).to_have_text("Choose a member of this tenant.")
    await expect(page.locator("#try-state")).to_have_text("")
    await expect(page.locator("#try-send")).to_be_enabled()


async def test_a_long_answer_is_followed_by_another_question(
    roots: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    page = await roots.open(f"/admin/assistant/promptversion/editor/{cast.support.pk}/")
    await page.locator("#try-user").fill("alice")
    for number, answer in enumerate(("x" * 19_999 + "😀" * 10, "Short."), start=1):
        fake_provider.reply(answer)
        await try_asking(page, "Tell me everything.")
        await expect(shown_in_try(page, "answer").locator("small")).to_have_count(number)
    sent = [one["content"] for one in fake_provider.requests[-1].messages[1:]]
    assert [len(one) for one in sent] == [19, 20_000, 19]
    assert sent[1][-1] == "😀"
    await expect(shown_in_try(page, "problem")).to_have_count(0)
