"""Formulas as they are painted: roots, brackets, matrices, integrals and braces have all signs, at full size."""

from __future__ import annotations

import base64
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.acts import answered, ask
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, done, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

FONT = "noto-sans-math.woff2"
FORMULAS = {
    "root": r"\frac{\sqrt{\pi}}{2}",
    "tall root": r"\sqrt{\frac{x^2+1}{\frac{y}{z}}}",
    "brackets": r"\left(\frac{\frac{a}{b}}{\frac{c}{d}}\right)",
    "matrix": r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \\ 5 & 6 \end{vmatrix}",
    "cases": r"\begin{cases} a & b \\ c & d \\ e & f \\ g & h \end{cases}",
    "integral": r"\int_{0}^{\infty} x\,dx",
    "overbrace": r"\overbrace{a+b+c+d+e+f+g+h}^{n}",
    "underbrace": r"\underbrace{a+b+c+d+e+f+g+h}_{n}",
    "overline": r"\overline{AB}",
    "wide overline": r"\overline{ABCDEFGH}",
    "hat": r"\widehat{ABCDE}",
    "tilde": r"\widetilde{ABCDE}",
    "check": r"\widecheck{ABCDE}",
    "over arrow": r"\overrightarrow{ABCDE}",
    "over arrows": r"\overleftrightarrow{ABCDE}",
    "under arrow": r"\underrightarrow{ABCDE}",
    "arrow": r"a \xrightarrow{\text{heat and light}} b",
    "left arrow": r"a \xleftarrow{\text{heat and light}} b",
    "double arrow": r"a \xRightarrow{\text{heat and light}} b",
    "double arrows": r"a \xLeftrightarrow{\text{heat and light}} b",
    "arrow with a bar": r"a \xmapsto{\text{heat and light}} b",
    "equals": r"a \xlongequal{\text{heat and light}} b",
}
# Accents, and arrows with something above them.
WIDE = ("hat", "tilde", "check", "over arrow", "over arrows", "under arrow")
ARROWS = ("arrow", "left arrow", "double arrow", "double arrows", "arrow with a bar", "equals")
ANSWER = "\n\n".join(f"$${formula}$$" for formula in FORMULAS.values())
# Returns the box of what is painted within a picture, in its pixels, and the share of its rows that have any.
INK = """async (picture) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const { width, height } = image;
  const brush = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
  brush.drawImage(image, 0, 0);
  const { data } = brush.getImageData(0, 0, width, height);
  const isPainted = (x, y) => Math.abs(data[4 * (y * width + x) + 1] - data[1]) > 60;
  const range = (most) => [...Array(most).keys()];
  const rows = range(height).filter((y) => range(width).some((x) => isPainted(x, y)));
  const columns = range(width).filter((x) => range(height).some((y) => isPainted(x, y)));
  const size = (lines) => (lines.length ? lines.at(-1) - lines[0] + 1 : 0);
  return { width: size(columns), height: size(rows), rows: rows.length / height };
}"""


@dataclass(frozen=True)
class Box:
    """A part of the page, in pixels."""

    x: float
    y: float
    width: float
    height: float

    def left_of(self, other: Box) -> Box:
        return Box(self.x, self.y, other.x - self.x, self.height)

    @property
    def whole_rows(self) -> Box:
        """Without the rows of pixels that are only partly within."""
        top = math.ceil(self.y)
        return Box(self.x, top, self.width, math.floor(self.y + self.height) - top)


@dataclass(frozen=True)
class Blackboard:
    """The formulas of an answer, and a page that reads pictures of them."""

    page: Page
    reader: Page

    async def box(self, name: str, part: str) -> Box:
        """Return the box of the first element that `part` selects within a formula."""
        formula = self.page.locator(".answer .formula").nth(list(FORMULAS).index(name))
        await formula.evaluate("(one) => one.scrollIntoView({ block: 'center', behavior: 'instant' })")
        found = await formula.locator(part).first.evaluate("(one) => one.getBoundingClientRect().toJSON()")
        return Box(found["x"], found["y"], found["width"], found["height"])

    async def ink(self, box: Box) -> dict[str, float]:
        clip: Any = {"x": box.x, "y": box.y, "width": max(1, box.width), "height": max(1, box.height)}
        picture = await self.page.screenshot(clip=clip)
        found: dict[str, float] = await self.reader.evaluate(INK, base64.b64encode(picture).decode())
        return found


async def check_signs(board: Blackboard) -> None:
    for name in ("root", "tall root"):
        root, inner = await board.box(name, "msqrt"), await board.box(name, "msqrt > *")
        assert (await board.ink(root.left_of(inner).whole_rows))["rows"] > 0.8, name
    for name, inner_part in (("brackets", "mfrac"), ("matrix", "mtable"), ("cases", "mtable")):
        sign, inner = await board.box(name, "mo[fence]"), await board.box(name, inner_part)
        painted = await board.ink(Box(sign.x, inner.y - 20, sign.width, inner.height + 40))
        assert 0.85 < painted["height"] / inner.height < 1.25, (name, painted, inner)
    sign, letter = await board.box("integral", "mo"), await board.box("integral", "mrow > mi")
    below, above = (
        await board.box("integral", "msubsup > :nth-child(2)"),
        await board.box("integral", "msubsup > :nth-child(3)"),
    )
    painted = await board.ink(Box(sign.x, sign.y - 20, sign.width, sign.height + 40))
    assert painted["height"] > 3 * letter.height
    assert above.y + above.height < letter.y and below.y > letter.y
    for name, part in (("overbrace", "mover mover"), ("underbrace", "munder munder")):
        brace, inner = await board.box(name, f"{part} > mo"), await board.box(name, f"{part} > mrow")
        painted = await board.ink(Box(inner.x - 5, brace.y, inner.width + 10, brace.height))
        assert painted["width"] > 0.85 * inner.width, (name, painted, inner)
    for name in ("overline", "wide overline"):
        line = await board.box(name, "menclose")
        inner = await board.box(name, "menclose > *")
        assert (await board.ink(Box(line.x, line.y - 1, line.width, 3)))["width"] > 0.9 * inner.width, name
    for name in WIDE:
        sign = await board.box(name, ":is(mover, munder) > mo")
        inner = await board.box(name, ":is(mover, munder) > mrow")
        top, height = (sign.y, sign.height) if sign.y > inner.y else (sign.y - 4, inner.y + 4 - sign.y)
        painted = await board.ink(Box(inner.x - 5, top, inner.width + 10, height))
        assert 0.7 < painted["width"] / inner.width < 1.15, (name, painted, inner)
    for name in ARROWS:
        sign = await board.box(name, "mover > mo")
        label = await board.box(name, "mover > mo + * mtext")
        painted = await board.ink(Box(label.x - 1, sign.y, label.width + 2, sign.height))
        assert painted["width"] >= label.width, (name, painted, label)
        beside = await board.ink(Box(label.x - 100, sign.y, 60, sign.height))
        assert beside["width"] == 0, (name, beside)


async def see(page: Page, name: str) -> None:
    """Save a screenshot where SCREENSHOTS says, for people to look at."""
    if folder := os.environ.get("SCREENSHOTS"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_formulas_have_all_their_signs(scheme: Any, alice_browser: Visitor, fake_provider: FakeProvider) -> None:
    page = await alice_browser.open()
    await page.emulate_media(color_scheme=scheme)
    fake_provider.reply(ANSWER)
    await ask(page, "Formulas")
    await answered(page)
    await expect(page.locator(".answer math")).to_have_count(len(FORMULAS))
    await see(page, f"formulas-{scheme}")
    await check_signs(Blackboard(page, await alice_browser.context.new_page()))


async def test_formulas_have_all_their_signs_in_the_widget(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    fake_provider.reply(ANSWER)
    await ask_widget(page, "Formulas")
    await done(page)
    await expect(page.locator(".answer math")).to_have_count(len(FORMULAS))
    await see(page, "formulas-widget")
    await check_signs(Blackboard(page, await page.context.new_page()))


async def test_the_font_comes_with_the_first_formula(page: Page, fake_provider: FakeProvider) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    fake_provider.reply("No formula.")
    await ask(page, "Text")
    await answered(page)
    assert not [url for url in asked if url.endswith(FONT)]
    for _ in range(2):
        fake_provider.reply("$$x^2$$")
        await ask(page, "A formula")
        await answered(page)
        await expect(page.locator(".answer math").last).to_be_visible()
        assert len([url for url in asked if url.endswith(FONT)]) == 1


async def test_formulas_are_shown_where_the_font_cannot_be_had(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    alice_browser.allows_lost_connection = True
    await alice_browser.context.route(f"**/{FONT}", lambda route: route.abort())
    page = await alice_browser.open()
    fake_provider.reply("$$x^2$$")
    await ask(page, "A formula")
    await expect(page.locator(".answer math")).to_be_visible()
