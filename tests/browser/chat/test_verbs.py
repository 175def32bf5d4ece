"""A long paste becomes a file, and a passage of an answer is quoted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.acts import answered, ask, last_answer, questions
from tests.browser.conftest import Visitor
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PICTURES = os.environ.get("PICTURES", "")
LONG = "A line of a long report.\n" * 300
SELECT = """(words) => {
  const walker = document.createTreeWalker(document.querySelector(".answer"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.data.indexOf(words);
    if (at < 0) continue;
    document.getSelection().setBaseAndExtent(walker.currentNode, at, walker.currentNode, at + words.length);
    return;
  }
}"""


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def paste(page: Page, text: str) -> None:
    await page.evaluate("text => navigator.clipboard.writeText(text)", text)
    await page.get_by_label("Message to").focus()
    await page.keyboard.press("Control+v")


async def test_a_long_paste_becomes_a_file_that_is_sent(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("I have read it.")
    await paste(page, LONG)
    tray = page.get_by_role("list", name="Files of this message")
    await expect(tray.get_by_role("listitem")).to_contain_text("Pasted text.txt")
    await expect(page.get_by_label("Message to")).to_have_value("")
    await picture(page, "pasted")
    said = await page.locator(".toast").bounding_box()
    card = await tray.bounding_box()
    assert said is not None and card is not None and said["y"] + said["height"] <= card["y"]  # it hides no file
    await expect(tray.locator("[data-state=done]")).to_have_count(1)
    await ask(page, "Sum it up")
    await answered(page)
    assert b"A line of a long report." in fake_provider.requests[0].body


async def test_undo_puts_it_into_the_box(page: Page) -> None:
    box = page.get_by_label("Message to")
    await box.fill("Look: ")
    await paste(page, LONG)
    await page.get_by_role("button", name="Undo").click()
    await expect(box).to_have_value("Look: " + LONG)
    await expect(page.get_by_role("list", name="Files of this message")).to_be_hidden()


async def test_undo_goes_with_the_file(page: Page, fake_provider: FakeProvider) -> None:
    """What was sent, or removed by hand, cannot be put into the box."""
    undo, tray = page.get_by_role("button", name="Undo"), page.get_by_role("list", name="Files of this message")
    await paste(page, LONG)
    await expect(undo).to_be_visible()
    await page.get_by_role("button", name="Remove Pasted text.txt").click()
    await expect(undo).to_be_hidden()
    fake_provider.reply("I have read it.")
    await paste(page, LONG)
    await expect(tray.locator("[data-state=done]")).to_have_count(1)
    await expect(undo).to_be_visible()
    await ask(page, "Sum it up")
    await expect(undo).to_be_hidden()
    await answered(page)


async def test_a_short_paste_stays_a_text(page: Page) -> None:
    await paste(page, "Short\nlines")
    await expect(page.get_by_label("Message to")).to_have_value("Short\nlines")
    await expect(page.get_by_role("list", name="Files of this message")).to_have_count(0)


async def test_a_passage_is_quoted_and_asked_about(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("You have **thirty days** to return it.\n\nThen no more.")
    fake_provider.reply("From the delivery on.")
    await ask(page, "How long?")
    await answered(page)
    button = page.get_by_role("button", name="Quote")
    await expect(button).to_have_count(0)
    await page.evaluate(SELECT, "thirty days")
    await expect(button).to_be_visible()
    await picture(page, "quote")
    await button.click()
    box = page.get_by_label("Message to")
    await expect(box).to_have_value("> thirty days\n\n")
    await expect(box).to_be_focused()
    await expect(button).to_be_hidden()
    await page.keyboard.type("From when on?")
    await page.keyboard.press("Enter")
    await answered(page)
    last = questions(page).last
    await expect(last.locator("blockquote")).to_have_text("thirty days")
    await expect(last).to_contain_text("From when on?")
    await picture(page, "quoted")
    assert b"> thirty days" in fake_provider.requests[-1].body
    await page.get_by_role("button", name="Edit the question").last.click()
    await expect(page.get_by_label("Your question")).to_have_value("> thirty days\n\nFrom when on?")


async def test_a_passage_is_quoted_by_keys(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("First line.\n\nSecond line.")
    await ask(page, "Speak")
    await answered(page)
    await page.evaluate("() => document.getSelection().selectAllChildren(document.querySelector('.answer .closed'))")
    await page.keyboard.press("Control+Shift+E")
    await expect(page.get_by_label("Message to")).to_have_value("> First line.\n> Second line.\n\n")


async def test_a_passage_is_selected_by_hand(page: Page, fake_provider: FakeProvider) -> None:
    """Three presses select a paragraph up to what follows, which is below the answer after its last one."""
    fake_provider.reply("First line.\n\nSecond line.")
    await ask(page, "Speak")
    await answered(page)
    await expect(page.locator(".footer time")).to_be_visible()
    for text in ("Second line.", "First line."):
        await page.locator(".answer").get_by_text(text).click(click_count=3)
        await page.get_by_role("button", name="Quote").click()
        await expect(page.get_by_label("Message to")).to_have_value(f"> {text}\n\n")
        await page.get_by_label("Message to").fill("")


async def test_what_is_selected_elsewhere_is_not_quoted(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello.")
    await ask(page, "My own words")
    await answered(page)
    await page.evaluate("() => document.getSelection().selectAllChildren(document.querySelector('.turn.user'))")
    await page.keyboard.press("Control+Shift+E")
    await expect(page.get_by_role("button", name="Quote")).to_be_hidden()
    await expect(page.get_by_label("Message to")).to_have_value("")


async def test_on_a_phone_the_button_stays_within_the_page(phone: Visitor, fake_provider: FakeProvider) -> None:
    page = await phone.open()
    fake_provider.reply("You have thirty days.")
    await ask(page, "How long?")
    await answered(page)
    await expect(last_answer(page)).to_have_text("You have thirty days.")
    await page.evaluate(SELECT, "You")
    button = page.get_by_role("button", name="Quote")
    await expect(button).to_be_in_viewport(ratio=1)
    await picture(page, "quote-phone")
    await button.tap()
    await expect(page.get_by_label("Message to")).to_have_value("> You\n\n")
