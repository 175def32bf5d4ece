"""How the chat page looks: headings, contrast, print, short windows."""

from __future__ import annotations

import itertools
import re

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Locator, Page, expect

from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.browser.conftest import make_visitor
from tests.factories import make_conversation
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

# Ratio of the text's colour to the colour behind it, by WCAG 2.
CONTRAST = """(element) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
    const brush = canvas.getContext("2d", { willReadFrequently: true });
    const behind = [];
    for (let one = element; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
    const seen = (...colours) => {
        for (const colour of colours) {
            brush.fillStyle = colour;
            brush.fillRect(0, 0, 1, 1);
        }
        return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.map((n) => n / 255).map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const pair = [light(seen("white", ...behind)), light(seen(getComputedStyle(element).color))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
}"""


async def contrast(text: Locator) -> float:
    return float(await text.evaluate(CONTRAST))


async def test_a_formula_has_room(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Then\n\n$$\\sum_{i=1}^{n} \\frac{p_i}{1 + x_i}$$\n")
    await ask(page, "How much?")
    await expect(page.locator(".answer math")).to_be_visible()
    # Chromium paints limits up to 8 pixels above the box of the formula that has them.
    room = await page.locator(".answer .formula").evaluate(
        "(one) => one.firstChild.getBoundingClientRect().top - one.getBoundingClientRect().top"
    )
    assert room >= 6


async def test_no_level_of_headings_is_left_out(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("# Title\n\n## Part\n\nText.\n")
    await ask(page, "Report")
    await answered(page)
    await expect(page.locator(".answer h4")).to_have_text("Part")
    levels = await page.locator("main :is(h1, h2, h3, h4, h5, h6)").evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => Number(one.localName[1]))"
    )
    assert levels[0] == 1
    assert max(levels) == 4
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_lists_second_line_has_contrast(scheme: str, browser: Browser, site: Server, cast: Cast) -> None:
    visitor = await make_visitor(browser, site.url, color_scheme=scheme)
    shown = await sync_to_async(make_conversation)(cast.alice, cast.support, title="Shown")
    await sync_to_async(make_conversation)(cast.alice, cast.support, title="Other")
    page = await visitor.open(f"/t/acme/c/{shown.pk}/")
    items = page.locator(".conversation")
    await expect(items).to_have_count(2)
    for number in range(2):
        line = items.nth(number).locator(".who")
        await page.mouse.move(700, 300)
        assert await contrast(line) >= 4.5
        await items.nth(number).hover()
        assert await contrast(line) >= 4.5
    await visitor.context.close()


async def test_the_whole_conversation_is_printed_and_nothing_else(
    browser: Browser, site: Server, fake_provider: FakeProvider
) -> None:
    visitor = await make_visitor(browser, site.url, color_scheme="dark")
    page = await visitor.open()
    fake_provider.reply("First.\n\n" + "line\n\n" * 120 + "Last.")
    await ask(page, "Much")
    await answered(page)
    document = await page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) > 2
    await page.emulate_media(media="print")
    for hidden in (".sidebar", ".foot", ".footer"):
        await expect(page.locator(hidden).first).to_be_hidden()
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 247)"
    assert await page.locator("#scroller").evaluate("(one) => one.scrollHeight === one.clientHeight")
    await visitor.context.close()


async def test_a_short_window_begins_at_the_top_of_the_welcome(browser: Browser, site: Server, cast: Cast) -> None:
    visitor = await make_visitor(browser, site.url, viewport={"width": 700, "height": 300})
    page = await visitor.open()
    heading = page.get_by_role("heading", name="How can Acme Support help?")
    await expect(heading).to_be_in_viewport(ratio=1)
    await page.wait_for_timeout(200)  # the sizes are observed
    assert await page.evaluate("document.querySelector('#scroller').scrollTop") == 0
    await page.mouse.move(300, 150)
    await page.mouse.wheel(0, 40)
    await expect(page.get_by_role("button", name="Jump to latest")).to_be_hidden()
    await visitor.context.close()
