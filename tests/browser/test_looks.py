"""How the chat page looks: headings, contrast, print, short windows."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Locator, Page, expect

from assistant.models import Document
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.browser.conftest import Visitor, make_visitor
from tests.factories import make_conversation, switch_tool
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


@pytest.mark.parametrize("wish", ["no-preference", "reduce"])
async def test_list_and_messages_move_as_they_come_unless_less_motion_is_asked_for(
    wish: Any, page: Page, fake_provider: FakeProvider
) -> None:
    await page.emulate_media(reduced_motion=wish)
    # Whatever has run, by its duration in milliseconds: what ends at once is not seen.
    await page.evaluate("""() => {
        window.moved = [];
        const note = ({ target, animationName, propertyName }) => {
            const [one] = target.getAnimations().map((each) => each.effect.getComputedTiming().duration);
            if (one > 1) moved.push(`${target.className.split(" ")[0]} ${animationName ?? propertyName}`);
        };
        for (const kind of ["animationstart", "transitionstart"]) document.addEventListener(kind, note);
        const { animate } = Element.prototype;
        Element.prototype.animate = function (...given) {
            moved.push(`${this.className.split(" ")[0]} fades in`);
            return animate.apply(this, given);
        };
    }""")
    await page.locator("#close-sidebar").click()
    await expect(page.locator("#sidebar")).to_be_hidden()
    await page.locator("#open-sidebar").click()
    await expect(page.locator("#sidebar")).to_be_in_viewport()
    fake_provider.reply("Yes.")
    await ask(page, "Is it there?")
    await answered(page)
    moves = {"sidebar translate", "turn fades in"}
    seen = moves.intersection(await page.evaluate("moved"))
    assert seen == (moves if wish == "no-preference" else set())


async def test_a_notice_that_is_taken_back_leaves_the_page(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.")
    await ask(page, "Is it there?")
    await answered(page)
    row = page.locator("#conversations .conversation")
    await row.hover()
    await row.locator("[data-action=delete]").click()
    await page.locator(".toast button").click()
    await expect(page.locator(".toast")).to_have_count(0)
    await expect(row).to_have_count(1)


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


async def test_a_closed_list_leaves_the_button_for_a_new_conversation(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello.")
    await ask(page, "Hi")
    await answered(page)
    new = page.locator(".bar").get_by_role("link", name="New conversation")
    await expect(new).to_be_hidden()
    await page.get_by_role("button", name="Close the list of conversations").click()
    await new.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")


async def test_digits_stand_below_each_other_in_a_table_from_right_to_left(
    page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("| المنطقة | المجموع |\n|---|---:|\n| الشمال | 1,200.50 |\n| North | 930.00 |\n")
    await ask(page, "كم؟")
    await answered(page)
    right = """(cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return Math.round(range.getBoundingClientRect().right);
    }"""
    for column in (1, 2):
        cells = page.locator(f".answer tr > :nth-child({column})")
        assert len({await cells.nth(row).evaluate(right) for row in range(3)}) == 1


async def test_what_a_member_does_not_find_is_said_beside_the_list(alice_browser: Visitor) -> None:
    page = await alice_browser.context.new_page()
    answer = await page.goto(f"{alice_browser.origin}/t/acme/c/90fd37d9-e4a3-418c-a26d-60afd923b700/")
    assert answer is not None and answer.status == 404
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    await page.locator(".sidebar").get_by_role("link", name="New conversation").click()
    await expect(page.get_by_label("Message to")).to_be_visible()


async def test_a_dialog_stands_out_from_a_dark_page(browser: Browser, site: Server) -> None:
    visitor = await make_visitor(browser, site.url, color_scheme="dark")
    page = await visitor.open()
    await page.locator(".new-chat").press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(dialog).to_be_visible()
    colour = "(one) => getComputedStyle(one).backgroundColor"
    assert await dialog.evaluate(colour) != await page.locator("body").evaluate(colour)
    await visitor.context.close()


async def test_a_source_opens_beside_what_is_read(page: Page, cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(add_document)(tenant=cast.acme, title="Shearing", text="Sheep are sheared in May.")
    await sync_to_async(switch_tool)(cast.acme, "search_docs")
    await page.set_viewport_size({"width": 1280, "height": 800})
    document = await sync_to_async(Document.objects.get)()
    fake_provider.call("search_docs", {"queries": ["Sheep are sheared in May."]})
    fake_provider.reply(f"In May [{document.pk}.1].")
    await ask(page, "When?")
    await answered(page)
    # It is named as it is drawn, for those who say what they press.
    await expect(page.locator(".source")).to_have_accessible_name(f"{document.pk}.1 Shearing")
    side = page.get_by_role("dialog", name="Source")
    await page.get_by_role("button", name="Source").first.click()
    await expect(side).to_be_visible()
    panel, box = await side.bounding_box(), await page.locator(".composer").bounding_box()
    assert panel is not None and box is not None
    assert box["x"] + box["width"] <= panel["x"]
    # What is beside can be written to; Escape closes the panel from within it.
    await page.get_by_label("Message to").fill("And then?")
    await side.get_by_role("button", name="Close the source").focus()
    await page.keyboard.press("Escape")
    await expect(side).to_be_hidden()
    await page.set_viewport_size({"width": 900, "height": 800})
    await page.get_by_role("button", name="Source").first.click()
    assert await side.evaluate("(one) => one.matches(':modal')")
