"""What visitors and members are told of an answer besides itself, and that an AI gives it."""

from __future__ import annotations

import re

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from assistant.contrib.branding.models import Brand
from tests.base import Cast
from tests.browser.acts import answered, ask, fits
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
NOTICE = re.compile("You are talking with an AI")
# What moves has ended, and what observes sizes has drawn what follows from that.
SETTLED = """async () => {
  await Promise.allSettled(document.getAnimations().map(({ finished }) => finished));
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
}"""


async def test_a_visitor_is_told_what_to_do_and_nothing_of_models_and_errors(
    shop: Shop, fake_provider: FakeProvider
) -> None:
    page = await shop.visit()
    await open_widget(page)
    await expect(page.get_by_role("note")).to_have_text(NOTICE)
    fake_provider.respond(401)
    await ask_widget(page, "Hello")
    failure = page.locator("tenant-assistant .failure p")
    await expect(failure).to_have_text("The answer could not be finished. Try again in a moment.")
    fake_provider.reply("Here I am.")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".footer time")).to_be_visible()
    await expect(page.locator(".footer .about")).not_to_contain_text("·")
    await expect(page.get_by_role("note")).to_have_text(NOTICE)


async def test_a_member_gets_a_number_for_an_administrator_and_no_model(
    page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(401)
    await ask(page, "Hello")
    failure = page.locator(".failure-text")
    await expect(failure).to_have_text(re.compile("^The answer could not be finished.* number: [0-9a-f]{6,}[.]$"))
    fake_provider.reply("Here I am.")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".footer time")).to_be_visible()
    await expect(page.locator(".footer")).not_to_contain_text("gpt")


async def test_a_call_that_went_well_is_quiet_and_nothing_found_is_an_answer(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.call("calculate", {"expression": "1+1"})
    fake_provider.reply("2.")
    await ask(page, "Add")
    await answered(page)
    state = page.locator(".tool > summary .tool-state")
    await expect(state).to_have_text("Done")  # to be heard, not seen
    assert (await state.bounding_box() or {}).get("width", 0) <= 1
    await expect(page.locator(".tool > summary .tool-time")).to_have_text("")
    await page.evaluate(
        """async () => {
          const { isNothing } = await import(document.querySelector("link[href*='js/values']").href);
          const found = [[], { results: [] }, { results: [], total: 0 }].every(isNothing);
          const other = [[1], {}, "", null, 0, { results: [], note: "Ask again" }].some(isNothing);
          if (!found || other) throw new Error("nothing found is told wrongly");
        }"""
    )


async def test_a_tenant_says_in_its_words_and_place_that_an_ai_answers(page: Page, cast: Cast) -> None:
    await expect(page.get_by_role("note")).to_have_text(NOTICE)
    source = page.locator("meta[name=digital-source-type]")
    await expect(source).to_have_attribute("content", re.compile("trainedAlgorithmicMedia$"))
    brand = {"ai_notice": "Ada is a machine.", "ai_notice_place": "box"}
    await sync_to_async(Brand.objects.update_or_create)(tenant=cast.acme, defaults=brand)
    await page.reload()
    await expect(page.locator(".foot").get_by_role("note")).to_have_text("Ada is a machine.")


async def opens_why(page: Page, place: str) -> None:
    """Open the sentence below the last answer by keyboard, read it, and close it again."""
    button = page.get_by_role("button", name="Why this answer?").last
    await expect(button).to_have_attribute("aria-expanded", "false")
    await button.focus()
    await page.keyboard.press("Enter")
    why = page.locator(".why").last
    await expect(why).to_have_text(f"This answer used Calculate, with data of {place}.")
    await expect(why).to_be_in_viewport(ratio=1)
    await expect(button).to_have_attribute("aria-expanded", "true")
    await expect(button).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(why).to_be_hidden()


async def test_why_an_answer_is_so_opens_below_it(page: Page, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.call("calculate", {"expression": "1+1"})
    fake_provider.reply("2.")
    await ask(page, "Add")
    await answered(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    await opens_why(page, "Acme")
    # The list asks for its rows when an answer ends, and scripts are fetched, which a busy machine does only now.
    assert [url for url in asked if "/conversations/?" not in url and "/static/" not in url] == []
    await page.set_viewport_size({"width": 390, "height": 700})
    await opens_why(page, "Acme")
    assert await fits(page)
    await page.reload()
    await opens_why(page, "Acme")


async def test_the_sentence_is_in_sight_below_an_answer_that_fills_the_page(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.call("calculate", {"expression": "1+1"})
    fake_provider.reply("\n\n".join(["Two."] * 4))
    await ask(page, "Add")
    await answered(page)
    button = page.get_by_role("button", name="Why this answer?")
    box = await button.bounding_box()
    form = await page.locator(".foot").bounding_box()
    size = page.viewport_size
    assert box is not None and form is not None and size is not None
    height = size["height"] - round(form["y"] - box["y"] - box["height"]) + 4
    await page.set_viewport_size({"width": size["width"], "height": height})
    await button.click()
    await expect(page.locator(".why")).to_be_visible()
    await page.evaluate(SETTLED)  # it stays there when the transcript has looked at its place
    bottoms = "['.why', '#scroller'].map((one) => document.querySelector(one).getBoundingClientRect().bottom)"
    shown, end = await page.evaluate(bottoms)
    assert shown <= end + 1


async def test_a_visitor_can_open_it_too(shop: Shop, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.call("calculate", {"expression": "1+1"})
    fake_provider.reply("2.")
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Add")
    await opens_why(page, "Acme")
