"""An end is followed until its reader moves up, in the page and in the widget, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import CDPSession, Locator, Page, async_playwright, expect

from tests.browser.conftest import ARGUMENTS, Visitor, chromium, make_visitor
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.fake_provider import FakeProvider
from tests.live import Server

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
LINES = "```\nprint(1)\n```\n\n" + "".join(f"Line {number} of what was said before.\n\n" for number in range(40))
# Of different lengths, so that a paragraph takes one line or two.
WORDS = [f"word{number} goes on{' and on' * (number % 9)}.\n\n" for number in range(2_000)]
DESK = {"width": 1200, "height": 800}
PHONE = {"width": 390, "height": 844}
FIRST_WORD = "word0"
GROWTH = 90  # pixels: what is written while a test looks on
STEPS = (3, 10)
# Resolves when nothing has been scrolled for some frames.
SETTLE = """(one) => new Promise((done) => {
  let top = NaN;
  let frames = 0;
  const look = () => {
    frames = one.scrollTop === top ? frames + 1 : 0;
    top = one.scrollTop;
    if (frames > 10) done(top);
    else requestAnimationFrame(look);
  };
  look();
})"""


# An image that loads late above what is read, in the form that the page's policy allows.
GROW_ABOVE = """(one) => {
  const image = new Image();
  const picture = "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='300'/>";
  one.querySelector("article").prepend(image);
  const isPage = one.getRootNode() === document;
  const blob = new Blob([picture], { type: "image/svg+xml" });
  image.src = isPage ? `data:image/svg+xml,${picture}` : URL.createObjectURL(blob);
  return image.decode();
}"""


@dataclass
class Reading:
    """An answer that is being written, and where its reader is."""

    page: Page
    scroller: Locator
    devtools: CDPSession

    async def number(self, expression: str) -> float:
        return float(await self.scroller.evaluate(f"(one) => {expression}"))

    async def top(self) -> float:
        return await self.number("one.scrollTop")

    async def left(self) -> float:
        """The pixels below what is shown."""
        return await self.number("one.scrollHeight - one.clientHeight - one.scrollTop")

    async def grow(self) -> None:
        """Wait until more is written, in several drawings."""
        height = await self.number("one.scrollHeight")
        await self.until(f"one.scrollHeight > {height + GROWTH}")

    async def until(self, condition: str) -> None:
        await self.page.wait_for_function(f"(one) => {condition}", arg=await self.scroller.element_handle())

    async def middle(self) -> tuple[float, float]:
        box = await self.scroller.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    async def settle(self) -> float:
        """Wait until it is scrolled no more, and return where it is."""
        return float(await self.scroller.evaluate(SETTLE))

    async def is_let_go(self) -> None:
        """Check that the reader stays where the last gesture led while the answer grows."""
        await self.until("one.scrollHeight - one.clientHeight - one.scrollTop > 1")
        top = await self.settle()
        await self.grow()
        assert await self.top() == top
        await expect(self.jump).to_be_visible()

    async def follows(self) -> None:
        """Check that what is written is scrolled into view."""
        await self.grow()
        await self.until("one.scrollHeight - one.clientHeight - one.scrollTop <= 1")
        await expect(self.jump).to_be_hidden()

    async def start_again(self) -> None:
        await self.jump.click()
        await self.follows()

    @property
    def jump(self) -> Locator:
        return self.page.get_by_role("button", name="Jump to latest")


async def begin(page: Page, scroller: str, fake_provider: FakeProvider) -> Reading:
    fake_provider.reply(chunks=[LINES, *WORDS], delay=0.03)
    await page.get_by_label("Message to Acme Support").fill("Tell me much")
    await page.get_by_role("button", name="Send").click()
    reading = Reading(page, page.locator(scroller), await page.context.new_cdp_session(page))
    await expect(page.locator(".answer")).to_contain_text(FIRST_WORD)
    await reading.jump.click()
    await reading.follows()
    return reading


@pytest_asyncio.fixture(loop_scope="session", params=["page-desk", "page-phone", "widget-desk", "widget-phone"])
async def reading(
    request: pytest.FixtureRequest, fake_provider: FakeProvider, alice_browser: Visitor, phone: Visitor, shop: Shop
) -> AsyncIterator[Reading]:
    place, _, device = request.param.partition("-")
    if place == "page":
        page = await (phone if device == "phone" else alice_browser).open()
        await page.set_viewport_size(PHONE if device == "phone" else DESK)  # type: ignore[arg-type]
    else:
        options: dict[str, Any] = {"viewport": DESK}
        if device == "phone":
            options = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
        page = await shop.visit(**options)
        await open_widget(page)
    yield await begin(page, "#scroller" if place == "page" else ".scroller", fake_provider)
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()


async def wheel(reading: Reading, pixels: float) -> None:
    await reading.page.mouse.move(*await reading.middle())
    await reading.page.mouse.wheel(0, pixels)


async def swipe(reading: Reading, step: float, steps: int = 8) -> None:
    """Pull the text down by a finger, in small steps."""
    x, y = await reading.middle()
    await touch(reading, "touchStart", x, y)
    for number in range(1, steps + 1):
        await touch(reading, "touchMove", x, y + step * number)
    await reading.devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


async def touch(reading: Reading, kind: str, x: float, y: float) -> None:
    await reading.devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})


async def test_the_first_small_movement_of_a_wheel_lets_go(reading: Reading) -> None:
    for step in STEPS:
        await wheel(reading, -step)
        await reading.is_let_go()
        await reading.start_again()


async def test_several_small_movements_add_up(reading: Reading) -> None:
    await wheel(reading, -3)
    await reading.is_let_go()
    top = await reading.top()
    for _ in range(12):
        await reading.page.mouse.wheel(0, -5)
    await reading.until(f"one.scrollTop === {top - 60}")
    await reading.is_let_go()


async def test_keys_let_go(reading: Reading) -> None:
    for key in ("ArrowUp", "PageUp", "Shift+Space", "Home"):
        await reading.scroller.focus()
        await reading.page.keyboard.press(key)
        await reading.is_let_go()
        await reading.start_again()


@pytest.mark.parametrize("reading", ["page-phone", "widget-phone"], indirect=True)
async def test_a_finger_lets_go(reading: Reading) -> None:
    for step in STEPS:
        await swipe(reading, step)
        await reading.is_let_go()
        await reading.start_again()


async def test_only_the_way_to_the_end_follows_again(reading: Reading) -> None:
    await wheel(reading, -70)
    await reading.is_let_go()
    await wheel(reading, 10)
    await reading.is_let_go()
    await wheel(reading, 10_000)
    await reading.follows()
    await reading.scroller.focus()
    await reading.page.keyboard.press("Home")
    await reading.is_let_go()
    await reading.page.keyboard.press("End")
    await reading.follows()


async def test_layout_does_not_let_go(reading: Reading) -> None:
    size = reading.page.viewport_size
    assert size is not None
    for height, width in ((-250, 0), (250, 0), (0, -60), (0, 60)):
        size = {"width": size["width"] + width, "height": size["height"] + height}  # type: ignore[assignment]
        await reading.page.set_viewport_size(size)  # type: ignore[arg-type]
        await reading.follows()
    await reading.scroller.evaluate(GROW_ABOVE)
    await reading.follows()
    for text in ("One\n" * 5, ""):
        await reading.page.get_by_label("Message to Acme Support").fill(text)
        await reading.follows()


async def test_a_movement_that_the_focus_makes_is_not_undone(reading: Reading) -> None:
    await reading.scroller.locator(".copy").first.evaluate("(one) => one.focus()")
    await reading.is_let_go()


async def test_a_selection_is_drawn_upwards(reading: Reading) -> None:
    box = await reading.scroller.bounding_box()
    assert box is not None
    mouse = reading.page.mouse
    await mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)  # in text that is drawn no more
    await mouse.down()
    top = await reading.top()
    await reading.grow()
    assert await reading.top() == top  # the text does not move away below the pointer
    await mouse.move(box["x"] + box["width"] / 3, box["y"] - 20, steps=5)
    await reading.until(f"one.scrollTop < {top}")
    await mouse.up()
    await reading.is_let_go()


async def test_a_movement_without_any_gesture_is_not_undone(reading: Reading) -> None:
    """As a search in the page makes it, or a screen reader."""
    await reading.scroller.get_by_text("Line 7 of").evaluate("(one) => one.scrollIntoView()")
    await reading.is_let_go()
    await expect(reading.page.get_by_text("Line 7 of")).to_be_in_viewport()


@pytest_asyncio.fixture(loop_scope="session")
async def barred(site: Server) -> AsyncIterator[Page]:
    """The chat in a browser that shows scrollbars."""
    async with async_playwright() as play:
        launched = await play.chromium.launch(
            executable_path=chromium(), args=ARGUMENTS, ignore_default_args=["--hide-scrollbars"]
        )
        visitor = await make_visitor(launched, site.url, viewport=DESK)
        yield await visitor.open()
        await launched.close()
        assert visitor.problems == []


async def test_the_scrollbar_lets_go(barred: Page, fake_provider: FakeProvider) -> None:
    reading = await begin(barred, "#scroller", fake_provider)
    assert await reading.number("one.offsetWidth - one.clientWidth") > 5
    top = await reading.top()
    await drag(reading, -3, f"one.scrollTop < {top}")
    await reading.is_let_go()
    await drag(reading, 300, "one.scrollHeight - one.clientHeight - one.scrollTop <= 1")
    await reading.follows()


async def drag(reading: Reading, pixels: float, condition: str) -> None:
    """Drag the scrollbar's thumb. Chromium loses a press in whose frame the thumb shrinks: press again then."""
    mouse = reading.page.mouse
    for _ in range(20):
        x, y = await thumb(reading)
        await mouse.move(x, y)
        await reading.settle()
        await mouse.down()
        await mouse.move(x, y + pixels, steps=3)
        await reading.settle()
        is_done = await reading.scroller.evaluate(f"(one) => {condition}")
        await mouse.up()
        if is_done:
            return
    raise AssertionError("the scrollbar did not move")


async def thumb(reading: Reading) -> tuple[float, float]:
    """Return where the middle of the scrollbar's thumb is."""
    box = await reading.scroller.bounding_box()
    assert box is not None
    middle = await reading.number("(one.scrollTop + one.clientHeight / 2) / one.scrollHeight")
    return box["x"] + box["width"] - 5, box["y"] + box["height"] * middle
