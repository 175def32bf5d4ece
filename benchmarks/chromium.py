"""Drives Chromium for the measurements of pages."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from benchmarks.targets import Product, Site, product, site

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
READY = "document.body?.dataset.connection === 'open' && !document.getElementById('message').disabled"


def chromium() -> str | None:
    """Return the path of the browser: `CHROMIUM`, or the first of its usual names on PATH; None if there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@contextmanager
def served(provider_url: str) -> Iterator[tuple[Product, Site]]:
    """Serve the product on a new site."""
    with ExitStack() as stack:
        made = stack.enter_context(site(provider_url))
        yield stack.enter_context(product(made)), made


@asynccontextmanager
async def browsing(path: str) -> AsyncIterator[Browser]:
    """Run the browser until the end of the block."""
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        await browser.close()


async def signed_in(browser: Browser, origin: str, session: str, **options: Any) -> BrowserContext:
    """Return a new profile with a session."""
    context = await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    await context.add_cookies([{"name": "sessionid", "value": session, "url": origin}])
    return context


async def until(page: Page, expression: str, *, seconds: float = 60) -> None:
    """Wait until an expression is true. Playwright's own function evaluates text in the page, which its CSP forbids."""
    async with asyncio.timeout(seconds):
        while not await page.evaluate(expression):  # noqa: ASYNC110 - it is true in another process
            await asyncio.sleep(0.01)


def origin_of(server: Product) -> str:
    return f"http://127.0.0.1:{server.port}"


NOT_MEASURED = "Not measured: there is no Chromium."
