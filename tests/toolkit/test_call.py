"""How a tool's function is run: threads, retries, transactions and cancellation."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from assistant.toolkit import (
    InvalidTool,
    TenantInfo,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    current_context,
    tool,
)
from assistant.toolkit.calls import worker_threads

CONTEXT = ToolContext()


def made_of(function: Callable[..., Any], **options: Any) -> Tool:
    return Tool.from_function(function, name="made", description="Do it.", **options)


async def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    """An event that hanging tools wait for; it is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def transactions() -> Iterator[list[str]]:
    """How each transaction ended."""
    ended: list[str] = []

    @contextmanager
    def atomic() -> Iterator[None]:
        try:
            yield
        except BaseException:
            ended.append("rolled back")
            raise
        ended.append("committed")

    before = worker_threads._atomic
    worker_threads.set_atomic(atomic)
    yield ended
    worker_threads.set_atomic(before)


async def test_hanging_tools_do_not_block_other_tools(hung: threading.Event) -> None:
    hangs = made_of(hung.wait, timeout=1, parameters={"type": "object"})
    calls = [asyncio.create_task(hangs.call("", CONTEXT)) for _ in range(worker_threads.MAX_THREADS)]
    await eventually(lambda: worker_threads._pool._running == worker_threads.MAX_THREADS)
    waiting = asyncio.create_task(made_of(lambda: "through").call("", CONTEXT))
    await eventually(lambda: len(worker_threads._pool._waiting) == 1)
    for call in calls:
        call.cancel()
    assert (await asyncio.wait_for(waiting, 10)).content == "through"
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*calls, return_exceptions=True))


async def test_the_number_of_abandoned_threads_is_limited(hung: threading.Event) -> None:
    started: list[int] = []

    def hangs() -> None:
        started.append(1)
        hung.wait()

    await eventually(lambda: worker_threads._pool._abandoned == 0)
    for round_ in range(4):
        calls = [asyncio.create_task(made_of(hangs).call("", CONTEXT)) for _ in range(worker_threads.MAX_THREADS)]
        wanted = min(round_ + 1, 3) * worker_threads.MAX_THREADS
        await eventually(lambda wanted=wanted: len(started) == wanted)  # type: ignore[misc]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    assert len(started) == worker_threads.MAX_ABANDONED + worker_threads.MAX_THREADS
    hung.set()
    await eventually(lambda: worker_threads._pool._abandoned == 0 and worker_threads._pool._running == 0)


async def test_tools_that_call_tools_do_not_deadlock() -> None:
    all_in = threading.Barrier(worker_threads.MAX_THREADS, timeout=20)
    inner = made_of(lambda: "inner")

    def outer() -> str:
        all_in.wait()
        return async_to_sync(inner.call)("", CONTEXT).content

    calls = [made_of(outer).call("", CONTEXT) for _ in range(worker_threads.MAX_THREADS)]
    assert {result.content for result in await asyncio.wait_for(asyncio.gather(*calls), 30)} == {"inner"}


async def test_each_attempt_is_logged_without_arguments_and_results(caplog: pytest.LogCaptureFixture) -> None:
    def fails(word: str) -> None:
        raise ConnectionError(f"no {word}")

    context = ToolContext(tenant=TenantInfo(slug="acme"), run_id="r1", secrets={"key": "s3cr3t"})
    with caplog.at_level("DEBUG", logger="assistant"), pytest.raises(ConnectionError):
        await made_of(fails, retries=1, retry_delay=0).call({"word": "private"}, context)
    assert caplog.text.count("raised ConnectionError") == 2
    assert "tenant acme, run r1" in caplog.text
    assert not any(word in caplog.text for word in ("private", "s3cr3t"))


async def test_a_call_that_is_cancelled_while_it_waits_for_a_thread_never_runs(hung: threading.Event) -> None:
    ran: list[str] = []
    hangs = made_of(hung.wait, parameters={"type": "object"})
    calls = [asyncio.create_task(hangs.call("", CONTEXT)) for _ in range(worker_threads.MAX_THREADS)]
    await eventually(lambda: worker_threads._pool._running == worker_threads.MAX_THREADS)
    late = asyncio.create_task(made_of(lambda: ran.append("ran")).call("", CONTEXT))
    await eventually(lambda: len(worker_threads._pool._waiting) == 1)
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    hung.set()
    await asyncio.gather(*calls)
    await made_of(lambda: None).call("", CONTEXT)
    assert ran == []


async def test_a_cancelled_tools_thread_keeps_its_context(hung: threading.Event) -> None:
    begun = threading.Event()
    seen: list[ToolContext] = []

    def slow() -> None:
        begun.set()
        hung.wait()
        seen.append(current_context())

    call = asyncio.create_task(made_of(slow).call("", CONTEXT))
    await eventually(begun.is_set)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    hung.set()
    await eventually(lambda: seen == [CONTEXT])


async def test_the_cleanup_runs_after_every_call_in_the_calls_thread() -> None:
    calls: list[tuple[str, int]] = []

    def works() -> None:
        calls.append(("call", threading.get_ident()))

    def fails() -> None:
        works()
        raise ToolError("no")

    before = worker_threads._cleanup
    worker_threads.set_thread_cleanup(lambda: calls.append(("cleanup", threading.get_ident())))
    try:
        await made_of(works).call("", CONTEXT)
        with pytest.raises(ToolError):
            await made_of(fails).call("", CONTEXT)
    finally:
        worker_threads.set_thread_cleanup(before)
    assert [name for name, _ in calls] == ["call", "cleanup"] * 2
    assert calls[0][1] == calls[1][1] != threading.get_ident()


async def test_a_failing_cleanup_does_not_lose_the_result() -> None:
    def fails() -> None:
        raise OSError

    before = worker_threads._cleanup
    worker_threads.set_thread_cleanup(fails)
    try:
        assert (await made_of(lambda: "kept").call("", CONTEXT)).content == "kept"
    finally:
        worker_threads.set_thread_cleanup(before)


async def test_an_atomic_call_is_committed_only_if_it_succeeded(transactions: list[str], hung: threading.Event) -> None:
    def fails() -> None:
        raise ToolError("no")

    def unconvertible() -> object:
        return object()

    await made_of(lambda: "done", atomic=True).call("", CONTEXT)
    for wrong in (fails, unconvertible):
        with pytest.raises(ToolError):
            await made_of(wrong, atomic=True).call("", CONTEXT)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await made_of(hung.wait, atomic=True, parameters={"type": "object"}).call("", CONTEXT)
    hung.set()
    await eventually(lambda: len(transactions) == 4)
    assert transactions == ["committed", "rolled back", "rolled back", "rolled back"]


class Flaky(Exception):
    pass


@pytest.mark.parametrize("is_async", [True, False])
async def test_calls_are_retried_after_declared_exceptions(is_async: bool) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise Flaky
        return "at last"

    async def flaky_async() -> str:
        return flaky()

    function = flaky_async if is_async else flaky
    tool_made = made_of(function, retries=2, retry_on=(Flaky,), retry_delay=0.001)
    assert (await tool_made.call("", CONTEXT)).content == "at last"
    assert len(tries) == 3


@pytest.mark.parametrize(
    ("raised", "deadline"),
    [
        (Flaky, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (ValueError, None),
        (ToolError, None),
    ],
)
async def test_calls_are_not_retried_after_other_exceptions_or_past_the_deadline(
    raised: type[Exception], deadline: Any
) -> None:
    tries: list[int] = []

    def fails() -> None:
        tries.append(1)
        raise raised("no")

    with pytest.raises(raised):
        await made_of(fails, retries=5, retry_on=(Flaky,), retry_delay=0.001).call("", ToolContext(deadline=deadline))
    assert len(tries) == 1


async def test_the_last_failure_is_the_one_that_is_raised() -> None:
    tries: list[int] = []

    def fails() -> None:
        tries.append(1)
        raise ConnectionError(f"{len(tries)}")

    with pytest.raises(ConnectionError, match="3"):
        await made_of(fails, retries=2, retry_delay=0).call("", CONTEXT)


@pytest.mark.parametrize("raised", [StopIteration, asyncio.CancelledError, StopAsyncIteration])
async def test_exceptions_with_a_meaning_for_the_event_loop_become_ordinary_failures(
    raised: type[BaseException],
) -> None:
    def fails() -> None:
        raise raised

    async def fails_async() -> None:
        raise raised

    for function in (fails, fails_async):
        with pytest.raises((RuntimeError, StopAsyncIteration)):
            await asyncio.wait_for(made_of(function).call("", CONTEXT), 10)


async def test_a_real_cancellation_goes_through() -> None:
    started = asyncio.Event()

    async def waits() -> None:
        started.set()
        await asyncio.sleep(60)

    call = asyncio.create_task(made_of(waits).call("", CONTEXT))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_sync_function_may_return_an_awaitable() -> None:
    async def later() -> str:
        return "later"

    async def items() -> AsyncIterator[int]:
        yield 1

    def made(function: Callable[[], Any]) -> Any:
        return function()

    assert (await made_of(lambda: made(later)).call("", CONTEXT)).content == "later"
    assert (await made_of(lambda: made(items)).call("", CONTEXT)).content == "[1]"


async def test_an_async_generator_is_closed_when_enough_was_read() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    result = await made_of(endless).call("", CONTEXT)
    assert "Cut here" in result.content
    assert closed == [True]


async def test_a_long_result_of_an_async_tool_is_converted_off_the_loop() -> None:
    threads: set[int] = set()

    class Noted(dict[str, int]):
        def items(self) -> Any:
            threads.add(threading.get_ident())
            return super().items()

    async def many() -> Any:
        return [Noted(a=1) for _ in range(5_000)]

    await made_of(many).call("", CONTEXT)
    assert len(threads) == 2


async def test_a_result_may_show_a_page_something_else() -> None:
    async def split() -> ToolResult:
        return ToolResult("for the model", display={"when": dt.date(2026, 1, 2)})

    result = await made_of(split).call("", CONTEXT)
    assert (result.content, result.display) == ("for the model", {"when": "2026-01-02"})


async def test_a_converter_makes_what_the_model_reads() -> None:
    made = made_of(lambda: [3, 4], result_converter=lambda value: f"{sum(value)} in all")
    result = await made.call("", CONTEXT)
    assert (result.content, result.value) == ("7 in all", [3, 4])


async def test_a_tool_of_the_client_is_never_run_here() -> None:
    made = Tool.client_side(name="page", description="Turn the page.", parameters={"type": "object"})
    with pytest.raises(InvalidTool):
        await made.call("", CONTEXT)


def test_a_tool_decides_whether_it_is_offered_and_with_which_description() -> None:
    @tool(
        needs_context=["basket"],
        available=lambda context: context.extra["basket"] != "empty",
        describe=lambda context: f"Look into the {context.extra['basket']} basket.",
    )
    def look() -> None:
        """Look into the basket."""

    assert look.for_context(CONTEXT) is None
    assert look.for_context(ToolContext(extra={"basket": "empty"})) is None
    offered = look.for_context(ToolContext(extra={"basket": "red"}))
    assert offered is not None
    assert offered.description == "Look into the red basket."
