"""Counts the clicks of a story, and keeps the table of them in docs/admin.md.

A click is a press of the mouse, or of a key that activates something: Enter, and Space on a control. What is typed,
and Tab, do not count.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Locator, Page

from tests.browser.conftest import Visitor

DOCUMENT = Path(__file__).parents[3] / "docs" / "admin.md"
# Counted in the page itself, where a click cannot be missed by whoever wrote the story.
WATCH = """
addEventListener("pointerdown", () => __counted(), true);
addEventListener("keydown", (event) => {
  const isTyped = event.target.matches("textarea, [type=text], [type=search], [type=email], [type=number]");
  if (event.key === "Enter" || (event.key === " " && !isTyped)) __counted();
}, true);
"""


@dataclass
class Story:
    """What somebody does in a browser, from the control panel's first page on."""

    visitor: Visitor
    clicks: int = 0

    async def begin(self, path: str = "/admin/") -> Page:
        """Open the page at which the story begins; whoever is here has signed in."""
        page = await self.visitor.open(path)
        await page.expose_binding("__counted", lambda *_: self._count())
        await page.add_init_script(WATCH)
        await page.reload()
        return page

    def _count(self) -> None:
        self.clicks += 1


async def type_into(field: Locator, text: str) -> None:
    """Type into a field that was reached by Tab, in place of what it has."""
    await field.focus()
    await field.press("Control+a")
    await field.press_sequentially(text)


def check(story: str, clicks: int, most: int) -> None:
    """Check the clicks of a story against the issue's figure and the row of the table.

    With `RECORD_STORIES=true` in the environment the row is written instead.
    """
    assert clicks <= most, f"{story}: {clicks} clicks, at most {most}"
    row = f"| {story} | {clicks} | {most} |"
    text = DOCUMENT.read_text()
    if os.environ.get("RECORD_STORIES") == "true":
        text, count = re.subn(rf"(?m)^\| {re.escape(story)} \|.*$", lambda _: row, text)
        assert count == 1, f"{DOCUMENT.name} has no row for {story!r}"
        DOCUMENT.write_text(text)
    assert row in text, f"docs/admin.md says something else than {row}: make stories"
