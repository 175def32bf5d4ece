"""Actions on the chat page, and what it shows."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect


async def ask(page: Page, text: str) -> None:
    await page.get_by_label("Message to").fill(text)
    await page.get_by_role("button", name="Send").click()


async def answered(page: Page) -> None:
    """Wait until no answer is in progress."""
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


def answers(page: Page) -> Locator:
    return page.locator(".answer")


def last_answer(page: Page) -> Locator:
    return answers(page).last


def questions(page: Page) -> Locator:
    return page.locator(".turn.user .bubble")


async def fits(page: Page) -> bool:
    """Return whether the page fits its width."""
    boxes = "[document.documentElement, document.querySelector('#scroller')]"
    return bool(await page.evaluate(f"{boxes}.every(box => box.scrollWidth <= box.clientWidth)"))
