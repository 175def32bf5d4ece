"""A first visit in a real browser: what is fetched, and when the page is ready on a slow line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from statistics import median
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page

from benchmarks.bench import Bench
from benchmarks.chromium import NOT_MEASURED, READY, browsing, chromium, origin_of, served, signed_in, until
from benchmarks.report import Line, Section

CODE = frozenset({"Script", "Stylesheet"})
# A slow line: milliseconds for each request, and bytes a second.
LATENCY, BYTES_PER_SECOND = 400, 50_000
SLOW = {
    "offline": False,
    "latency": LATENCY,
    "downloadThroughput": BYTES_PER_SECOND,
    "uploadThroughput": BYTES_PER_SECOND,
}
# Not a page of the product, but answered in its place.
HOST = "/shop.html"
HOST_PAGE = '<!doctype html><script type="module" src="{src}"></script><tenant-assistant inline></tenant-assistant>'
MAX_PAGE, MAX_WIDGET, MAX_WARM, MAX_COLD = 90.0, 60.0, 3.0, 6.0


def measure(bench: Bench) -> Iterator[Section]:
    path = chromium()
    if path is None:
        yield Section("A first visit", NOT_MEASURED, [])
        return
    with served(bench.provider_url) as (server, made):
        yield asyncio.run(_measure(bench, origin_of(server), made.sessions[0], path))


async def _measure(bench: Bench, origin: str, session: str, path: str) -> Section:
    async with browsing(path) as browser:
        page = await _weight_of_page(browser, origin, session)
        widget = await _weight_of_widget(browser, origin)
        times = [await _ready(browser, origin, session) for _ in range(bench.rounds)]
    lines = [
        Line("script and style of the chat", page / 1000, "kB", MAX_PAGE),
        Line("script and style of the widget", widget / 1000, "kB", MAX_WIDGET),
        Line("ready, empty cache", median(cold for cold, _ in times), "s", MAX_COLD),
        Line("ready, warm cache", median(warm for _, warm in times), "s", MAX_WARM),
    ]
    how = (
        "Headless Chromium. Bytes of compressed bodies, without headers. Times on a line of "
        f"{LATENCY} ms a request and {BYTES_PER_SECOND // 1000} kB/s, until a message can be sent."
    )
    return Section("A first visit", how, lines)


async def _counted(context: BrowserContext) -> tuple[Page, list[int]]:
    """Return a page, and a list to which the bytes of each script and style sheet that it fetches are added."""
    page = await context.new_page()
    client = await context.new_cdp_session(page)
    kinds: dict[str, str] = {}
    sizes: list[int] = []

    def received(event: dict[str, Any]) -> None:
        if kinds.get(event["requestId"]) in CODE:
            sizes.append(int(event["encodedDataLength"]))

    client.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))
    client.on("Network.dataReceived", received)
    await client.send("Network.enable")
    return page, sizes


async def _weight_of_page(browser: Browser, origin: str, session: str) -> int:
    context = await signed_in(browser, origin, session)
    page, sizes = await _counted(context)
    await page.goto(f"{origin}/t/bench/")
    await until(page, READY)
    await page.wait_for_load_state("networkidle")
    await context.close()
    return sum(sizes)


async def _weight_of_widget(browser: Browser, origin: str) -> int:
    context = await browser.new_context()
    html = HOST_PAGE.format(src=f"{origin}/static/assistant/widget.js")
    await context.route(origin + HOST, lambda route: route.fulfill(body=html, content_type="text/html"))
    page, sizes = await _counted(context)
    await page.goto(origin + HOST)
    await until(page, "Boolean(document.querySelector('tenant-assistant').shadowRoot)")
    await page.wait_for_load_state("networkidle")
    await context.close()
    return sum(sizes)


async def _ready(browser: Browser, origin: str, session: str) -> tuple[float, float]:
    """Return the seconds until the page is ready on a slow line, with an empty cache and with a warm one."""
    context = await signed_in(browser, origin, session)
    found = []
    for _ in range(2):
        page = await context.new_page()
        client = await context.new_cdp_session(page)
        await client.send("Network.enable")
        await client.send("Network.emulateNetworkConditions", SLOW)
        await page.goto(f"{origin}/t/bench/", wait_until="commit")
        await until(page, READY)
        found.append(await page.evaluate("performance.now()") / 1000)
        await page.close()
    await context.close()
    return found[0], found[1]
