"""Whether the page is ever busy for long while answers of all kinds stream, counted in a real browser."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count

from playwright.async_api import Page

from benchmarks.bench import Bench
from benchmarks.chromium import NOT_MEASURED, READY, browsing, chromium, origin_of, served, signed_in, until
from benchmarks.report import Line, Section
from tests.answers import ANSWERS, tokens
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

RATE = 200
# What a task may take, in milliseconds: browsers call longer ones long tasks.
LONG = 50
WATCH = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration, startTime } of list.getEntries()) window.longTasks.push([duration, startTime]);
  }).observe({ type: "longtask", buffered: false });
}"""
ANSWERED = "document.querySelectorAll('.turn.assistant .footer time').length >= {number}"


def measure(bench: Bench) -> Iterator[Section]:
    path = chromium()
    if path is None:
        yield Section("Work of the page in one piece", NOT_MEASURED, [])
        return
    answers = ANSWERS[:3] if bench.quick else ANSWERS
    with FakeProvider() as provider:
        numbers = count()

        def recorded(request: Recorded) -> Answer:
            text = answers[next(numbers) % len(answers)]
            return reply(chunks=tokens(text), delay=1 / RATE)(request)

        provider.rule(recorded)
        with served(provider.url) as (server, made):
            yield asyncio.run(_measure(origin_of(server), made.sessions[0], path, len(answers)))


async def _measure(origin: str, session: str, path: str, answers: int) -> Section:
    async with browsing(path) as browser:
        context = await signed_in(browser, origin, session)
        page = await context.new_page()
        await page.goto(f"{origin}/t/bench/")
        await until(page, READY)
        await page.evaluate(WATCH)
        for number in range(1, answers + 1):
            await _ask(page, number)
        long: list[list[float]] = await page.evaluate("window.longTasks")
        await context.close()
    longest = max((duration for duration, _ in long), default=0)
    lines = [
        Line(f"tasks of the page of more than {LONG} ms", float(len(long)), "", 0, beside=f"longest {longest:.0f} ms"),
    ]
    how = f"{answers} answers of all kinds, one after the other, {RATE} tokens a second; Chromium's own count of them."
    return Section("Work of the page in one piece", how, lines)


async def _ask(page: Page, number: int) -> None:
    await page.get_by_label("Message to").fill(f"Question {number}")
    await page.keyboard.press("Enter")
    await until(page, ANSWERED.format(number=number), seconds=120)
