"""The page in a real browser: first paint, a long thread, and frames while an answer streams."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from benchmarks.bench import Bench
from benchmarks.report import Line, Section, number
from benchmarks.targets import Product, Site, product, site

RATE = 200
THREAD = 1_000
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "cc", "benchmark"]
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
SHOWN = f"document.querySelectorAll('.turn').length >= {THREAD}"
LAST = "[...document.querySelectorAll('.turn')].at(-1)"
PRESENTED = ("STATE_PRESENTED_ALL", "STATE_PRESENTED_PARTIAL")
Event = dict[str, Any]


def measure(bench: Bench) -> Iterator[Section]:
    """Measure in the Chromium of `CHROMIUM` or of PATH."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    chromium = next((path for name in names if name and (path := shutil.which(name))), None)
    if chromium is None:
        yield Section("The page in Chromium", "Not measured: there is no Chromium.", [])
        return
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        server = stack.enter_context(product(made))
        yield asyncio.run(_measure(bench, server, made, chromium))


async def _measure(bench: Bench, server: Product, made: Site, chromium: str) -> Section:
    origin, session = f"http://127.0.0.1:{server.port}", made.sessions[0]
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        paints = [await _open(browser, origin, session, "/t/bench/", "true") for _ in range(bench.rounds + 1)]
        thread = f"/t/bench/c/{made.long_threads[THREAD]}/"
        longs = [await _open(browser, origin, session, thread, SHOWN) for _ in range(bench.rounds)]
        context = await _context(browser, origin, session)
        page = await context.new_page()
        await page.goto(origin + thread)
        await _until(page, SHOWN)
        events = await _stream(browser, page, bench.page_seconds)
        await browser.close()
    lines = [
        Line("first paint, a new conversation", median(paint for paint, _ in paints[1:]), "ms"),
        Line(f"first paint, a thread of {THREAD:,} messages", median(paint for paint, _ in longs), "ms"),
        Line(f"all {THREAD:,} messages are there", median(shown for _, shown in longs), "ms"),
        *_frames(events, bench.page_seconds),
        *_layouts(events),
    ]
    how = (
        f"Headless Chromium without a GPU. {bench.page_seconds} s of {RATE} tokens a second in the thread of "
        f"{THREAD:,} messages; frames and layouts from the browser's tracing."
    )
    return Section("The page in Chromium", how, lines)


async def _context(browser: Browser, origin: str, session: str) -> BrowserContext:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    await context.add_cookies([{"name": "sessionid", "value": session, "url": origin}])
    return context


async def _open(browser: Browser, origin: str, session: str, path: str, shown: str) -> tuple[float, float]:
    """Return the milliseconds to the first paint, and until `shown` is true, with an empty cache."""
    context = await _context(browser, origin, session)
    page = await context.new_page()
    await page.goto(origin + path)
    await _until(page, shown)
    until: float = await page.evaluate("performance.now()")
    await _until(page, PAINTED)
    paint: float = await page.evaluate(PAINTED)
    await context.close()
    return paint, until


async def _until(page: Page, expression: str) -> None:
    """Wait until an expression is true. Playwright's own function evaluates text in the page, which its CSP forbids."""
    async with asyncio.timeout(60):
        while not await page.evaluate(expression):  # noqa: ASYNC110 - it is true in another process
            await asyncio.sleep(0.01)


async def _stream(browser: Browser, page: Page, seconds: int) -> list[Event]:
    """Return the trace events of a streamed answer, without its first half second."""
    await page.get_by_label("Message to").fill(f"[tokens={RATE * (seconds + 1)} rate={RATE}]")
    await page.keyboard.press("Enter")
    await _until(page, f"{LAST}.textContent.length > 1000")
    await browser.start_tracing(page=page, categories=CATEGORIES)
    await asyncio.sleep(seconds - 0.5)
    events: list[Event] = json.loads(await browser.stop_tracing())["traceEvents"]
    if await page.evaluate(f"{LAST}.textContent.length") < seconds * RATE:
        raise RuntimeError("the page does not show the answer as it comes")
    return events


def _frames(events: Sequence[Event], seconds: float) -> list[Line]:
    states = Counter(
        event["args"]["frame_reporter"]["state"]
        for event in events
        if event["name"] == "PipelineReporter" and event["ph"] == "b" and "frame_reporter" in event["args"]
    )
    shown = sum(states[state] for state in PRESENTED)
    dropped = states["STATE_DROPPED"]
    tasks = _main_thread(events, "RunTask")
    return [
        Line("frames shown of those that had something new", shown / (shown + dropped) * 100, "%", 99, True,
             f"{shown} shown, {dropped} dropped"),
        Line("longest work of the page in a frame, p99", percentile([e["dur"] / 1000 for e in tasks], 99), "ms", 16.7),
        Line("the page's share of a core", sum(e["dur"] for e in tasks) / 1e6 / seconds * 100, "%"),
    ]  # fmt: skip


def _layouts(events: Sequence[Event]) -> list[Line]:
    """Return how much a layout has to change: only the last block, at the beginning and the end of a long answer."""
    found = sorted(_main_thread(events, "Layout"), key=lambda event: event["ts"])
    dirty = [event["args"]["beginData"]["dirtyObjects"] for event in found]
    third = len(dirty) // 3
    growth = median(dirty[-third:]) - median(dirty[:third])
    took = median(event["dur"] for event in found) / 1000
    beside = f"{len(found)} layouts of {number(took)} ms"
    return [
        Line("objects that a layout finds changed, p95", percentile(dirty, 95), "", 40, beside=beside),
        Line("the same, by how much it grows with the answer", float(growth), "", 2),
    ]


def _main_thread(events: Sequence[Event], name: str) -> list[Event]:
    """Return the events with that name in the main thread of the page, the one with most layouts."""
    threads = Counter((event["pid"], event["tid"]) for event in events if event["name"] == "Layout")
    main = threads.most_common(1)[0][0]
    return [
        event for event in events if event["name"] == name and (event["pid"], event["tid"]) == main and "dur" in event
    ]


def percentile(values: Sequence[float], share: int) -> float:
    """Return the value that so many percent of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]
