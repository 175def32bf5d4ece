"""The chat in other languages than English: its texts, plural forms, and text that runs from right to left."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from tests.base import Cast
from tests.browser.acts import fits
from tests.browser.conftest import Visitor, make_visitor
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

ARABIC = "استخدم الأمر `git push origin` ثم افتح Docker في المتصفح."
HEBREW = "הריצו את `npm run build` ואז פתחו את Chrome בדפדפן."
# The places of words on the screen, from left to right.
PLACES = """(paragraph, words) => words.map((word) => {
    const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf(word);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + word.length);
        return [word, range.getBoundingClientRect().left];
    }
}).sort((a, b) => a[1] - b[1]).map(([word]) => word)"""


async def ask(page: Page, text: str) -> None:
    await page.locator("#message").fill(text)
    await page.keyboard.press("Enter")


async def places(page: Page, words: list[str]) -> list[str]:
    found: list[str] = await page.locator(".answer p").last.evaluate(PLACES, words)
    return found


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser, site: Server, request: pytest.FixtureRequest) -> AsyncIterator[Visitor]:
    """Alice with a browser in the language of the test's parameter."""
    made = await make_visitor(browser, site.url, locale=request.param)
    yield made
    await made.context.close()
    assert made.problems == []


@pytest.mark.parametrize("visitor", ["de-DE"], indirect=True)
async def test_all_of_the_page_is_in_german(visitor: Visitor, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "2 + 3"})
    fake_provider.reply("Fertig.")
    page = await visitor.open()
    await expect(page.locator(".new-chat")).to_have_text("Neue Unterhaltung")
    await expect(page.get_by_label("Nachricht an Acme Support")).to_be_focused()
    await ask(page, "Was ist 2 + 3?")
    await expect(page.locator(".tool .state")).to_have_text("Fertig")
    await expect(page.get_by_role("button", name="Antwort kopieren")).to_be_visible()
    await expect(page.locator(".group-title")).to_have_text("Heute")
    shown = await page.locator("body").inner_text()
    assert not [word for word in ("Done", "Today", "Send", "Copy", "conversation") if word in shown]
    names = await page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    (catalogue,) = [name for name in names if "/languages/" in name]
    assert "/assistant/languages/de.js?v=" in catalogue


@pytest.mark.parametrize("visitor", ["de-DE"], indirect=True)
async def test_an_error_of_the_server_is_in_german(visitor: Visitor, fake_provider: FakeProvider) -> None:
    fake_provider.respond(401)
    page = await visitor.open()
    await ask(page, "Hallo")
    await expect(page.locator(".failure-text")).to_contain_text(re.compile("number: [0-9a-f]{6,}"))
    await expect(page.get_by_role("button", name="Noch einmal versuchen")).to_be_visible()


@pytest.mark.parametrize("visitor", ["en-GB"], indirect=True)
async def test_english_loads_no_catalogue(visitor: Visitor) -> None:
    page = await visitor.open()
    await expect(page.get_by_label("Message to Acme Support")).to_be_focused()
    names = await page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    assert not [name for name in names if "/languages/" in name]


@pytest.mark.parametrize("visitor", ["ar-EG"], indirect=True)
async def test_arabic_has_six_plural_forms_and_runs_from_right_to_left(visitor: Visitor) -> None:
    page = await visitor.open()
    forms = await page.evaluate(
        "import(document.documentElement.dataset.catalogue).then(({ plural }) => [0, 1, 2, 3, 11, 100].map(plural))"
    )
    assert forms == [0, 1, 2, 3, 4, 5]
    boxes = await page.evaluate(
        "['sidebar', 'chat'].map((id) => document.getElementById(id).getBoundingClientRect().left)"
    )
    assert boxes[0] > boxes[1]
    assert await fits(page)


@pytest.mark.parametrize("visitor", ["ar-EG", "en-US"], indirect=True)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        # The first word is the rightmost, and code and Latin words are read from left to right within the line.
        (ARABIC, ["المتصفح", "Docker", "git", "push", "origin", "استخدم"]),
        (HEBREW, ["בדפדפן", "Chrome", "npm", "run", "build", "הריצו"]),
    ],
)
async def test_right_to_left_text_keeps_its_order_around_code_and_latin_words(
    visitor: Visitor, fake_provider: FakeProvider, text: str, words: list[str], tmp_path: Any
) -> None:
    fake_provider.reply(text)
    page = await visitor.open()
    await ask(page, text.replace("`", ""))
    await expect(page.locator(".answer code")).to_be_visible()
    await expect(page.locator(".footer .about time")).to_be_visible()
    assert await places(page, words) == words
    assert await page.locator(".answer code").evaluate("(code) => getComputedStyle(code).direction") == "ltr"
    for place in (".answer p", ".turn.user .bubble", "#title"):
        assert await page.locator(place).last.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    box = page.locator("#message")
    await box.fill(text)
    assert await box.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    # The paragraph begins at the right edge of its column.
    edges = await page.locator(".answer p").last.evaluate(
        "(one) => { const range = document.createRange(); range.selectNodeContents(one);"
        " return [range.getBoundingClientRect().right, one.getBoundingClientRect().right]; }"
    )
    assert abs(edges[0] - edges[1]) < 2
    assert len(await page.locator(".answer").last.screenshot(path=tmp_path / "answer.png")) > 1000


# Where the text of an element ends on the side of the page's beginning: 0 at its edge.
GAP = """(one) => { const range = document.createRange(); range.selectNodeContents(one);
  return Math.round(one.getBoundingClientRect().right - range.getBoundingClientRect().right); }"""


@pytest.mark.parametrize("visitor", ["ar-EG"], indirect=True)
async def test_what_is_empty_or_latin_begins_at_the_right_of_an_arabic_page(
    visitor: Visitor, fake_provider: FakeProvider
) -> None:
    fake_provider.call("find_orders", {})
    fake_provider.reply("Done.")
    page = await visitor.open()
    box = page.locator("#message")
    assert await box.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    bad = {"name": "order.pdf", "mimeType": "application/pdf", "buffer": b"no PDF"}
    await page.locator("#file-input").set_input_files([bad])
    about = page.locator(".tray [data-state=failed] .file-about")
    await expect(about).to_have_text("امتداد الملف هو ‎.pdf، لكن محتواه شيء آخر.".replace("\u200e", ""))
    assert await page.locator(".tray .file-name").evaluate(GAP) == 0
    await page.locator(".tray .remove").click()
    await ask(page, "Where is my order?")
    await expect(page.locator(".footer .about time")).to_be_visible()
    assert await page.locator(".conversation .title").evaluate(GAP) == 0
    visitor.problems.clear()  # the upload was refused


@pytest.mark.parametrize("visitor", ["ar-EG"], indirect=True)
async def test_values_of_tools_are_read_as_they_were_written(visitor: Visitor, fake_provider: FakeProvider) -> None:
    page = await visitor.open()
    directions = await page.evaluate(
        """async () => {
          const app = document.querySelector("script[src*='js/app']").src;
          const { shown } = await import(app.replace(/app[^/]*$/, "values.js"));
          const values = [{ orders: [{ id: 1 }] }, "טקסט", { name: "Ada (1815)." }, [{ id: 1 }]];
          return values.map(shown).map((one) => {
            document.body.append(one);
            const read = one.querySelector("dd, td") ?? one;
            return [getComputedStyle(read).direction, getComputedStyle(read).textAlign];
          });
        }"""
    )
    assert [one for one, _ in directions] == ["ltr", "rtl", "ltr", "ltr"]


@pytest.mark.parametrize("visitor", ["ar-EG"], indirect=True)
async def test_labels_of_forms_keep_their_own_direction(
    visitor: Visitor, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    field = {"name": "more", "label": "Anything else?", "kind": "text", "required": False}
    fake_provider.call("ask_user", {"question": "And then?", "fields": [field]})
    page = await visitor.open()
    await ask(page, "Book a table")
    first, last = await page.locator(".approval .label > :first-child").evaluate(
        "(one) => [0, one.textContent.length - 1].map((at) => { const range = document.createRange();"
        " range.setStart(one.firstChild, at); range.setEnd(one.firstChild, at + 1);"
        " return range.getBoundingClientRect().left; })"
    )
    assert first < last
