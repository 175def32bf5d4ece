"""The documentation in a browser: everything fits a phone, and the contents can be opened."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.live import Server

pytestmark = [pytest.mark.apps, pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PHONE, SCREEN = 390, 1280
WIDER_THAN_THEIR_PLACE = (
    "[...document.querySelectorAll('html, table')].filter(e => e.scrollWidth > e.clientWidth).length"
)


async def read(browser: Browser, server: Server, slug: str, width: int) -> Page:
    page = await browser.new_page(viewport={"width": width, "height": 844})
    await page.goto(f"{server.url}/docs/{slug}/")
    return page


@pytest.mark.parametrize("slug", ["rest", "errors", "websocket", "configuration", "tools"])
async def test_tables_fit_a_phone(slug: str, browser: Browser, uvicorn_server: Server) -> None:
    page = await read(browser, uvicorn_server, slug, PHONE)
    assert await page.evaluate(WIDER_THAN_THEIR_PLACE) == 0
    await page.close()


async def test_the_contents_open_above_the_document_on_a_phone(browser: Browser, uvicorn_server: Server) -> None:
    page = await read(browser, uvicorn_server, "rest", PHONE)
    await expect(page.get_by_role("searchbox")).to_be_in_viewport()
    entry = page.get_by_role("navigation").get_by_role("link", name="Event streams")
    await expect(entry).to_be_hidden()
    await page.get_by_text("Contents", exact=True).click()
    await entry.click()
    await expect(page.get_by_role("heading", name="Event streams")).to_be_in_viewport()
    await page.close()


async def test_the_contents_are_beside_the_document_on_a_wide_screen(browser: Browser, uvicorn_server: Server) -> None:
    page = await read(browser, uvicorn_server, "rest", SCREEN)
    await expect(page.get_by_text("Contents", exact=True)).to_be_hidden()
    await page.get_by_role("navigation").get_by_role("link", name="Errors", exact=True).click()
    await expect(page.get_by_role("heading", name="Errors", level=1)).to_be_visible()
    await page.close()
