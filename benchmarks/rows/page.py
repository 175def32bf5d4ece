"""The page in a real browser: first paint, a long thread, and frames while an answer streams."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from playwright.async_api import Browser, Page

from benchmarks.bench import Bench
from benchmarks.chromium import NOT_MEASURED, browsing, chromium, origin_of, served, signed_in, until
from benchmarks.report import Line, Section, number
from benchmarks.targets import Product, Site

RATE = 200
THREAD = 1_000
CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "cc", "benchmark"]
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
SHOWN = f"document.querySelectorAll('.turn').length >= {THREAD}"
LAST = "[...document.querySelectorAll('.turn')].at(-1)"
PRESENTED = ("STATE_PRESENTED_ALL", "STATE_PRESENTED_PARTIAL")
Event = dict[str, Any]


def measure(bench: Bench) -> Iterator[Section]:
    """Measure in the Chromium of `CHROMIUM` or of PATH."""
    path = chromium()
    if path is None:
        yield Section("The page in Chromium", NOT_MEASURED, [])
        return
    with served(bench.provider_url) as (server, made):
        yield asyncio.run(_measure(bench, server, made, path))


async def _measure(bench: Bench, server: Product, made: Site, path: str) -> Section:
    origin, session = origin_of(server), made.sessions[0]
    async with browsing(path) as browser:
        paints = [await _open(browser, origin, session, "/t/bench/", "true") for _ in range(bench.rounds + 1)]
        thread = f"/t/bench/c/{made.long_threads[THREAD]}/"
        longs = [await _open(browser, origin, session, thread, SHOWN) for _ in range(bench.rounds)]
        context = await signed_in(browser, origin, session)
        page = await context.new_page()
        await page.goto(origin + thread)
        await until(page, SHOWN)
        events = await _stream(browser, page, bench.page_seconds)
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


async def _open(browser: Browser, origin: str, session: str, path: str, shown: str) -> tuple[float, float]:
    """Return the milliseconds to the first paint, and until `shown` is true, with an empty cache."""
    context = await signed_in(browser, origin, session)
    page = await context.new_page()
    await page.goto(origin + path)
    await until(page, shown)
    shown_at: float = await page.evaluate("performance.now()")
    await until(page, PAINTED)
    paint: float = await page.evaluate(PAINTED)
    await context.close()
    return paint, shown_at


async def _stream(browser: Browser, page: Page, seconds: int) -> list[Event]:
    """Return the trace events of a streamed answer, without its first half second."""
    await page.get_by_label("Message to").fill(f"[tokens={RATE * (seconds + 1)} rate={RATE}]")
    await page.keyboard.press("Enter")
    await until(page, f"{LAST}.textContent.length > 1000")
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
