"""The control page: the whole corpus without sanitising, to show what the vectors can do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from markdown_it import MarkdownIt
from playwright.async_api import Browser, Error, Page, Route

from tests.browser.watching import PROVOKE, Watch
from tests.vectors import CORPUS, OUTSIDE_HOST, Vector

# Some windows that vectors open never report to the driver that they are closed.
CLOSE_SECONDS = 3.0
VISITORS = 6
ORIGIN = "http://127.0.0.1:1"
_UNSAFE = MarkdownIt("commonmark", {"html": True}).enable("table")
_UNSAFE.validateLink = lambda url: True  # type: ignore[method-assign]
# In the head, where no vector can disable it.
_VISITOR = f"""<script>
const pass = {PROVOKE};
addEventListener("load", () => setTimeout(() => {{
  pass(document.body);
  for (const one of document.querySelectorAll("a, area, button, input, br, [onclick], text"))
    one.dispatchEvent(new MouseEvent("click", {{ bubbles: true, cancelable: true }}));
}}));
</script>"""


def unsanitised(vector: Vector) -> str:
    """The page that shows a vector as a careless site would."""
    body = _UNSAFE.render(vector.text) if vector.is_markdown else vector.text
    return f"<!doctype html><meta charset=utf-8><head>{_VISITOR}</head><body>{body}"


async def _within_bound(closing: Awaitable[None]) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(closing, CLOSE_SECONDS)
        return True
    return False


async def _visit(browser: Browser, vectors: Sequence[Vector]) -> Watch:
    """Show each vector in a window of its own, one after the other; what they did."""
    context = await browser.new_context()
    watch = await Watch(ORIGIN).over(context)
    pages = {f"{ORIGIN}/{vector.number}": unsanitised(vector) for vector in vectors}

    async def serve(route: Route) -> None:
        body = pages.pop(route.request.url, None)  # once: a form that leads to itself would send itself for ever
        if body is None:
            await route.abort()
        else:
            await route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)

    await context.route(f"{ORIGIN}/**", serve)
    stuck: set[Page] = set()
    for vector in vectors:
        page = await context.new_page()
        with suppress(Error):  # it may lead elsewhere before it is there
            await page.goto(f"{ORIGIN}/{vector.number}", timeout=5000)
        await page.wait_for_timeout(30)
        for opened in set(context.pages) - stuck:
            if not await _within_bound(opened.close()):
                stuck.add(opened)
    await _within_bound(context.close())
    return watch


async def without_sanitiser(browser: Browser) -> tuple[set[int], set[int]]:
    """The numbers of the vectors that ran, and of those that asked other hosts for something."""
    # Most of the time is spent waiting for pages that never finish loading.
    watches = await asyncio.gather(*(_visit(browser, CORPUS[first::VISITORS]) for first in range(VISITORS)))
    asked = re.findall(rf"{re.escape(OUTSIDE_HOST)}/(\d+)", " ".join(one for watch in watches for one in watch.asked))
    return set().union(*(watch.ran for watch in watches)), {int(number) for number in asked}
