"""What people do on the chat page, and what they see there."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect


async def ask(page: Page, text: str) -> None:
    await page.get_by_label("Message to").fill(text)
    await page.get_by_role("button", name="Send").click()


async def answered(page: Page) -> None:
    """Wait until nothing is being answered any more."""
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


def answers(page: Page) -> Locator:
    return page.locator(".answer")


def last_answer(page: Page) -> Locator:
    return answers(page).last


def questions(page: Page) -> Locator:
    return page.locator(".turn.user .bubble")


async def fits(page: Page) -> bool:
    """Whether nothing of the page sticks out to the side."""
    boxes = "[document.documentElement, document.querySelector('#scroller')]"
    return bool(await page.evaluate(f"{boxes}.every(box => box.scrollWidth <= box.clientWidth)"))
