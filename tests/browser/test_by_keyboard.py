"""What can be done without a mouse: the list as one Tab stop, keys that a person changes, and what is announced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor
from tests.factories import make_conversation
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PICTURES = os.environ.get("PICTURES", "")
FOCUSED = """() => {
  const row = document.activeElement.closest(".conversation");
  return row ? row.querySelector(".title").textContent : document.activeElement.id;
}"""


@pytest.fixture
def many(cast: Cast) -> None:
    for number in range(30):
        make_conversation(cast.alice, cast.support, title=f"Talk {number}")


async def focused(page: Page) -> str:
    return str(await page.evaluate(FOCUSED))


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


@pytest.mark.usefixtures("many")
async def test_the_list_is_one_stop_and_arrows_move_in_it(page: Page) -> None:
    await page.get_by_role("searchbox").focus()
    await press(page, "Tab")
    assert await focused(page) == "Talk 29"
    await press(page, "ArrowDown", "ArrowDown")
    assert await focused(page) == "Talk 27"
    await press(page, "ArrowRight")
    assert await page.evaluate("document.activeElement.dataset.action") == "rename"
    await press(page, "ArrowDown")
    assert await focused(page) == "Talk 26"
    await press(page, "Home", "ArrowUp")
    assert await focused(page) == "search"
    await press(page, "Tab", "End")
    assert await focused(page) == "Talk 0"
    await press(page, "Tab")
    assert await focused(page) == "archive"
    await press(page, "Shift+Tab")
    assert await focused(page) == "Talk 0"  # where one was


@pytest.mark.usefixtures("many")
async def test_few_stops_lead_through_the_whole_page(page: Page) -> None:
    await page.evaluate("document.activeElement.blur()")
    stops = 0
    while stops < 60:
        await press(page, "Tab")
        stops += 1
        if await page.evaluate("document.activeElement.id") == "message":
            break
    assert stops < 25


@pytest.mark.usefixtures("many")
async def test_a_row_is_renamed_and_deleted_by_keys(page: Page) -> None:
    await page.get_by_role("link", name="Talk 29").focus()
    await press(page, "F2")
    await expect(page.get_by_label("New title")).to_be_focused()
    await page.keyboard.type("Sheep")
    await press(page, "Enter")
    await expect(page.get_by_role("link", name="Sheep")).to_be_visible()
    await press(page, "ArrowLeft", "ArrowDown")
    assert await focused(page) == "Talk 28"
    await press(page, "Delete")
    await expect(page.get_by_role("link", name="Talk 28")).to_have_count(0)
    await expect(page.locator("#status")).to_have_text("“Talk 28” is deleted")


async def test_keys_begin_hide_copy_and_stop(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("A **whole** answer.")
    await ask(page, "Speak")
    await answered(page)
    await press(page, "Control+Shift+C")
    assert await page.evaluate("navigator.clipboard.readText()") == "A **whole** answer."
    await press(page, "Control+Shift+S")
    await expect(page.locator("#sidebar")).to_be_hidden()
    await press(page, "Control+Shift+S")
    await expect(page.locator("#sidebar")).to_be_visible()
    await press(page, "Control+Shift+O")
    await expect(page.locator("#welcome")).to_be_visible()
    await expect(page.get_by_label("Message to")).to_be_focused()


async def test_keys_can_be_changed_and_are_kept(alice_browser: Visitor, fake_provider: FakeProvider) -> None:
    page = await alice_browser.open()
    await page.get_by_label("Appearance").focus()
    await press(page, "?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    stop = sheet.locator("[data-shortcut=stop]")
    await expect(stop).to_have_text("Esc")
    await picture(page, "shortcuts")
    await stop.click()
    await press(page, "Control+Shift+O")
    await expect(sheet.get_by_role("status")).to_have_text("These keys do something else already.")
    await stop.click()
    await press(page, "Control+Period")
    await expect(stop).to_have_text("Ctrl .")
    new = sheet.locator("[data-shortcut=new]")
    await new.click()
    await press(page, "Escape")  # leaves it as it was, and the sheet open
    await expect(new).to_have_text("Ctrl Shift O")
    await press(page, "Escape")
    await expect(sheet).to_be_hidden()
    await page.reload()
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One ", gate, "two."])
    await ask(page, "Count")
    await expect(last_answer(page)).to_have_text("One")
    await press(page, "Escape")
    await expect(page.locator("#stop")).to_be_visible()
    await press(page, "Control+Period")
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    gate.release()
    await page.get_by_label("Appearance").focus()
    await press(page, "?")
    await sheet.get_by_role("button", name="As at the beginning").click()
    await expect(sheet.locator("[data-shortcut=stop]")).to_have_text("Esc")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("**Yes.** It costs `3` euros, see [here](https://example.com/).\n\nMore.", "Answer complete. Yes."),
        ("## Returns\n\nYou have *thirty* days. Then no more.", "Answer complete. Returns. You have thirty days."),
        ("| Name | Price |\n|---|---|\n| Lamp | 3 |\n", "Answer complete. Name, Price"),
        ("- One [a](https://example.com/)\n- Two", "Answer complete. One a (example.com)"),
        ("```python\nprint(1)\n```", "Answer complete. print(1)"),
        ("# Only", "Answer complete. Only"),
    ],
)
async def test_the_end_is_announced_as_it_is_drawn(
    page: Page, fake_provider: FakeProvider, answer: str, said: str
) -> None:
    fake_provider.reply(answer)
    await ask(page, "Speak")
    await expect(page.locator("#status")).to_have_text(said)


async def test_the_list_of_shortcuts_fits_a_phone(phone: Visitor) -> None:
    page = await phone.open()
    await page.evaluate("import('/static/assistant/js/shortcut_list.js').then(({ open }) => open())")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await picture(page, "shortcuts-phone")
    assert await fits(page)
