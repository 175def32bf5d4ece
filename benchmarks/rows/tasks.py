"""Whether the page is ever busy for long while answers of all kinds stream, counted in a real browser."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import count
from typing import Any

from playwright.async_api import Browser, Page

from benchmarks.bench import Bench
from benchmarks.chromium import NOT_MEASURED, READY, browsing, chromium, origin_of, served, signed_in, until
from benchmarks.report import Line, Section
from tests.answers import ANSWERS, tokens
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

RATE = 200
# What a task may take, in milliseconds: browsers call longer ones long tasks.
LONG = 50
# Chromium's records of the tasks of its threads, and the name of the thread that runs a page.
TASKS, RECORDED, MAIN = "toplevel", "ThreadControllerImpl::RunTask", "CrRendererMain"
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

        async def ask_all() -> None:
            for number in range(1, answers + 1):
                await _ask(page, number)

        tasks = _of_page(await _traced(browser, ask_all))
        await context.close()
    long = [one for one in tasks if one > LONG]
    line = Line(
        f"tasks of the page of more than {LONG} ms", float(len(long)), "", 0, beside=f"longest {max(tasks):.0f} ms"
    )
    how = (
        f"{answers} answers of all kinds, one after the other, {RATE} tokens a second. Chromium's own record of its "
        "tasks: processor time of the page's thread, so that what else the machine does has no part in it."
    )
    return Section("Work of the page in one piece", how, [line])


async def _traced(browser: Browser, act: Callable[[], Coroutine[Any, Any, None]]) -> list[dict[str, Any]]:
    """Return the browser's record of its tasks during an act."""
    client = await browser.new_browser_cdp_session()
    events: list[dict[str, Any]] = []
    ended = asyncio.Event()
    client.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    client.on("Tracing.tracingComplete", lambda _: ended.set())
    await client.send("Tracing.start", {"traceConfig": {"includedCategories": [TASKS]}})
    await act()
    await client.send("Tracing.end")
    await ended.wait()
    return events


def _of_page(events: Iterable[dict[str, Any]]) -> list[float]:
    """Return the milliseconds of processor time of each task of the page's thread, the busiest of its kind."""
    tasks: dict[tuple[int, int], list[float]] = defaultdict(list)
    mains = set()
    for event in events:
        thread = event["pid"], event["tid"]
        if event["name"] == "thread_name" and event["args"]["name"] == MAIN:
            mains.add(thread)
        elif event["name"] == RECORDED and "tdur" in event:
            tasks[thread].append(event["tdur"] / 1000)
    return max((tasks[thread] for thread in mains), key=len)


async def _ask(page: Page, number: int) -> None:
    await page.get_by_label("Message to").fill(f"Question {number}")
    await page.keyboard.press("Enter")
    await until(page, ANSWERED.format(number=number), seconds=120)
