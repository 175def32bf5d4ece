"""Generated titles, follow-up questions, other models and shared conversations, on the page and in the widget."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, Route, expect

from assistant.models import Assistant, Provider
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import sign_in
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.contrib.shares.sharing import set_sharing
from tests.contrib.titles.test_follow_ups import BOTH, NEXT, ON, is_aside
from tests.fake_answers import reply
from tests.fake_provider import Answer, FakeProvider, Recorded
from tests.live import Server, serve

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


def answering(request: Recorded) -> Answer:
    if is_aside(request):
        return reply(json.dumps({"title": "Returns of sheep", "questions": NEXT}))(request)
    return reply(f"Answered by {request.json['model']}.")(request)


@pytest.fixture
def site(transactional_db: None, cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Iterator[Server]:
    fake_provider.rule(answering)
    Assistant.objects.filter(pk=cast.support.pk).update(
        name="Acme Support", other_models=["large-model", "small-model"], extensions=BOTH
    )
    set_sharing(cast.acme)
    with serve(env=ON) as started:
        yield started


async def test_title_and_questions_come_after_the_answer_and_a_click_writes_one(page: Page) -> None:
    await ask(page, "How do I return a sheep that I bought last week?")
    await expect(page.locator("#title")).to_have_text("Returns of sheep")
    await expect(page.locator("#conversations .title").first).to_have_text("Returns of sheep")
    await expect(page).to_have_title("Returns of sheep · Acme · Tenant Assistant")
    chips = page.get_by_role("group", name="Suggested questions").get_by_role("button")
    await expect(chips).to_have_text(NEXT)
    assert await fits(page)
    await page.reload()
    await expect(chips).to_have_text(NEXT)
    await chips.first.focus()
    await page.keyboard.press("Enter")
    box = page.get_by_label("Message to")
    await expect(box).to_have_value(NEXT[0])
    await expect(box).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.user .bubble").last).to_have_text(NEXT[0])
    # Only the last answer has them, in a narrow window too.
    await answered(page)
    await page.set_viewport_size({"width": 320, "height": 640})
    await expect(page.locator(".follow-ups")).to_have_count(1)
    assert await fits(page)


async def test_another_model_answers_again_by_keyboard_and_its_answer_says_so(page: Page) -> None:
    await ask(page, "How are sheep?")
    await expect(last_answer(page)).to_have_text("Answered by test-model.")
    await answered(page)
    menu = page.get_by_label("Try again with another model")
    await menu.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(last_answer(page)).to_have_text("Answered by large-model.")
    await expect(page.locator(".footer .about")).to_contain_text("large-model")
    await expect(page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await page.get_by_role("button", name="Previous version").click()
    await expect(last_answer(page)).to_have_text("Answered by test-model.")
    await expect(page.locator(".footer .about")).to_contain_text("test-model")
    await page.get_by_label("Try again with another model").click()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Try again with small-model")).to_be_hidden()


async def test_a_list_of_links_that_comes_late_hides_no_newer_link(page: Page) -> None:
    made = asyncio.Event()

    async def late(route: Route) -> None:
        """The list as it was asked for, sent after the link was made."""
        if route.request.method != "GET":
            await route.continue_()
            return
        answer = await route.fetch()
        await made.wait()
        await route.fulfill(response=answer)

    await ask(page, "How do I return a sheep?")
    await expect(page.locator("#title")).to_have_text("Returns of sheep")
    await page.route("**/shares/", late)
    async with page.expect_request(lambda request: request.url.endswith("/shares/")):
        await page.locator("#conversation-menu > summary").click()
        await page.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog", name="Share this conversation")
    await dialog.get_by_role("button", name="Make a link").click()
    await expect(dialog.get_by_role("link")).to_be_visible()
    async with page.expect_response(lambda response: response.url.endswith("/shares/")):
        made.set()
    await page.evaluate("() => new Promise((resolve) => setTimeout(resolve))")
    await expect(dialog.get_by_role("link")).to_be_visible()


async def test_a_conversation_is_shared_read_by_a_colleague_and_revoked(
    page: Page, site: Server, browser: Browser
) -> None:
    await ask(page, "How do I return a **sheep**?")
    await answered(page)
    await page.get_by_label("More about this conversation").click()
    await page.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog", name="Share this conversation")
    await dialog.get_by_role("button", name="Make a link").click()
    url = await dialog.get_by_role("link").get_attribute("href")
    assert url
    context = await browser.new_context()
    colleague = await context.new_page()
    await sign_in(colleague, site.url, "amy")
    await colleague.goto(url)
    await expect(colleague.locator(".bubble")).to_have_text("How do I return a **sheep**?")
    await expect(colleague.locator(".answer")).to_have_text("Answered by test-model.")
    assert await colleague.locator("main :is(textarea, form)").count() == 0
    await dialog.get_by_role("button", name="Revoke").click()
    await expect(dialog.get_by_role("listitem")).to_have_count(0)
    answer = await colleague.goto(url)
    assert answer is not None and answer.status == 404
    await context.close()


async def test_the_widget_has_questions_too_and_names_no_models(shop: Shop) -> None:
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "How are sheep?")
    chips = page.get_by_role("group", name="Suggested questions").get_by_role("button")
    await expect(chips).to_have_text(NEXT)
    await chips.last.click()
    await expect(page.get_by_role("textbox")).to_have_value(NEXT[1])
    await expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    await expect(page.get_by_label("Try again with another model")).to_have_count(0)
