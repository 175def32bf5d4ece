"""The widget goes on where it was: over pages and router swaps, closed or open, with its list of conversations."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.test_widget import Shop, ask, done, host, open_widget, shop  # noqa: F401 - fixtures
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
SWAP = """() => {
    const widget = document.querySelector("tenant-assistant");
    const place = widget.parentElement;
    widget.remove();
    place.append(widget.cloneNode());
}"""
TOP = "(one) => Math.round(one.getBoundingClientRect().top)"


def box(page: Page) -> Locator:
    return page.get_by_label("Message to Acme Support")


def launcher(page: Page) -> Locator:
    return page.locator("tenant-assistant .launcher")


async def next_page(page: Page, way: str) -> None:
    if way == "page":
        await page.reload()
    else:
        await page.evaluate(SWAP)


@pytest.mark.parametrize("way", ["page", "router"])
async def test_open_draft_and_place_are_there_on_the_next_page(
    way: str, shop: Shop, fake_provider: FakeProvider
) -> None:
    page = await shop.visit()
    await open_widget(page)
    fake_provider.reply("One.\n\n" + "A line.\n\n" * 60)
    await ask(page, "First")
    await done(page)
    read = page.get_by_text("One.", exact=True)
    before = await read.evaluate(TOP)
    await box(page).fill("Half a sent")
    await next_page(page, way)
    await expect(box(page)).to_have_value("Half a sent")
    await expect(read).to_be_in_viewport()
    assert abs(await read.evaluate(TOP) - before) <= 2
    # The page has the focus, not what was open.
    await expect(box(page)).not_to_be_focused()


async def test_two_widgets_of_a_page_keep_their_drafts_apart(shop: Shop) -> None:
    page = await shop.visit()
    add = """() => {
        const widget = document.querySelector("tenant-assistant");
        widget.after(widget.cloneNode());
    }"""
    await page.evaluate(add)
    boxes = [widget.get_by_label("Message to Acme Support") for widget in await page.locator("tenant-assistant").all()]
    for place, text in enumerate(["First", "Second"]):
        await launcher(page).nth(place).click()
        await boxes[place].fill(text)
        await page.keyboard.press("Escape")
    await page.reload()
    await page.evaluate(add)
    for place, text in enumerate(["First", "Second"]):
        await launcher(page).nth(place).click()
        await expect(boxes[place]).to_have_value(text)
        await page.keyboard.press("Escape")


async def test_a_closed_widget_stays_closed_and_keeps_its_draft(shop: Shop) -> None:
    page = await shop.visit()
    await open_widget(page)
    await box(page).fill("Later")
    await page.keyboard.press("Escape")
    await page.reload()
    await expect(launcher(page)).to_have_attribute("aria-expanded", "false")
    await open_widget(page)
    await expect(box(page)).to_have_value("Later")


async def test_what_one_visitor_wrote_is_not_shown_to_the_next(shop: Shop) -> None:
    page = await shop.visit()
    await open_widget(page)
    await box(page).fill("My salary")
    await page.context.add_cookies([{"name": "user", "value": "emil", "url": shop.url}])
    await page.reload()
    await expect(box(page)).to_be_enabled()
    await expect(page.get_by_role("heading", name="Acme Support")).to_be_visible()
    await expect(box(page)).to_have_value("")
    assert "salary" not in await page.evaluate("JSON.stringify(sessionStorage)")


async def test_an_answer_that_comes_while_it_is_closed_has_a_dot(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Well, ", gate, "yes."])
    await ask(page, "Is it there?")
    await expect(page.get_by_text("Well,")).to_be_visible()
    await page.keyboard.press("Escape")
    # On another page, where nothing but the button is shown.
    await page.reload()
    gate.release()
    await expect(launcher(page)).to_have_class(re.compile("news"))
    await expect(launcher(page)).to_have_accessible_name("Open the assistant: New answer")
    await page.reload()
    await expect(launcher(page)).to_have_class(re.compile("news"))
    await open_widget(page)
    await expect(page.get_by_text("Well, yes.")).to_be_visible()
    await expect(launcher(page)).not_to_have_class(re.compile("news"))


async def test_conversations_are_listed_and_escape_closes_one_layer_at_a_time(
    shop: Shop, fake_provider: FakeProvider
) -> None:
    page = await shop.visit()
    await open_widget(page)
    fake_provider.reply("Ropes are here.")
    await ask(page, "Where are ropes?")
    await done(page)
    await page.get_by_role("button", name="New conversation").click()
    fake_provider.reply("Nets are there.")
    await ask(page, "Where are nets?")
    await done(page)
    talks = page.get_by_role("navigation", name="Conversations")
    await page.get_by_role("button", name="Conversations", exact=True).click()
    await expect(talks.get_by_role("button")).to_have_count(3)
    await page.keyboard.press("Escape")
    await expect(talks).to_be_hidden()
    await expect(page.get_by_role("button", name="Conversations", exact=True)).to_be_focused()
    await page.get_by_role("button", name="Conversations", exact=True).click()
    await talks.get_by_role("button").last.click()
    await expect(page.get_by_text("Ropes are here.")).to_be_visible()
    await page.get_by_role("button", name="Conversations", exact=True).click()
    await talks.get_by_role("button", name="New conversation").click()
    await expect(page.get_by_text("Ropes are here.")).to_be_hidden()
    await expect(box(page)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(launcher(page)).to_be_focused()


async def test_a_wide_panel_stays_wide(shop: Shop) -> None:
    page = await shop.visit()
    await open_widget(page)
    width = "(one) => one.offsetWidth"
    panel = page.locator("tenant-assistant section.panel")
    narrow = await panel.evaluate(width)
    await page.get_by_role("button", name="Wide").click()
    assert await panel.evaluate(width) > narrow + 200
    await page.reload()
    await expect(page.get_by_role("button", name="Wide")).to_have_attribute("aria-pressed", "true")
    assert await panel.evaluate(width) > narrow + 200


async def test_the_button_alone_is_one_file(shop: Shop) -> None:
    page = await shop.visit()
    await expect(page.get_by_role("button", name="Open the assistant")).to_be_visible()
    scripts = "performance.getEntriesByType('resource').map(({name}) => name).filter((name) => name.endsWith('.js'))"
    names = [name.rpartition("/static/assistant/")[2] for name in await page.evaluate(scripts)]
    # What names the button in the visitor's language comes when the page has time.
    assert names == ["widget.js", "js/i18n.js"]
