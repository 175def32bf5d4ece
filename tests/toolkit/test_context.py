"""The tool context: available everywhere below a running tool, and nowhere else."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from assistant.toolkit import MissingSecret, TenantInfo, Tool, ToolContext, ToolError, UserInfo, current_context, tool
from assistant.toolkit.context import use_context

ACME = ToolContext(tenant=TenantInfo(id=1, slug="acme"))
GLOBEX = ToolContext(tenant=TenantInfo(id=2, slug="globex"))


def slug() -> str:
    return current_context().tenant.slug


async def told(function: Any, context: ToolContext = ACME) -> str:
    made = Tool.from_function(function, name="told", description="Say who calls.")
    return (await made.call("", context)).content


def test_a_context_and_its_mappings_are_frozen() -> None:
    extra = {"basket": 1}
    context = ToolContext(extra=extra, history=["hello"])  # type: ignore[arg-type]
    extra["basket"] = 2
    assert (context.extra["basket"], context.history) == (1, ("hello",))
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.run_id = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        context.extra["basket"] = 3  # type: ignore[index]


def test_repr_shows_no_secret() -> None:
    context = ToolContext(
        user=UserInfo(1, "alice"),
        extra={"k": "visible?"},
        secrets={"api": "s3cr3t"},
        history=("said",),
        config={"p": "q"},
    )
    shown = f"{context!r} {context}"
    assert "alice" in shown
    assert not any(word in shown for word in ("visible?", "s3cr3t", "said", "'q'"))


def test_a_missing_secret_is_named() -> None:
    context = ToolContext(secrets={"api": "s3cr3t"})
    assert context.secret("api") == "s3cr3t"
    with pytest.raises(MissingSecret, match="'other'") as caught:
        context.secret("other")
    assert isinstance(caught.value, KeyError | ToolError)
    assert "s3cr3t" not in str(caught.value)


async def test_a_tool_that_returns_its_context_tells_the_model_nothing() -> None:
    async def careless(context: ToolContext) -> Any:
        return {"all": context}

    with pytest.raises(ToolError) as caught:
        await told(careless, ToolContext(secrets={"api": "s3cr3t"}))
    assert "s3cr3t" not in str(caught.value)


async def test_threads_of_every_kind_have_the_context() -> None:
    def in_threads() -> str:
        seen: list[str] = []

        class Own(threading.Thread):
            def run(self) -> None:
                seen.append(slug())

        def nested() -> None:
            thread = Own()
            thread.start()
            thread.join()

        timer = threading.Timer(0, lambda: seen.append(slug()))
        for thread in (threading.Thread(target=nested), Own(), timer):
            thread.start()
            thread.join()
        with ThreadPoolExecutor(1) as pool:
            seen += pool.map(lambda _: slug(), range(2))
            seen.append(pool.submit(pool_within).result())
        return " ".join(seen)

    def pool_within() -> str:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(slug).result()

    assert await told(in_threads) == " ".join(["acme"] * 6)


async def test_calls_from_threads_to_the_loop_and_back_keep_the_context() -> None:
    async def crossing() -> str:
        loop = asyncio.get_running_loop()
        return " ".join(
            [
                await asyncio.to_thread(slug),
                await loop.run_in_executor(None, slug),
                await sync_to_async(slug)(),
                await sync_to_async(slug, thread_sensitive=False)(),
                await asyncio.create_task(sync_to_async(async_to_sync(later))()),
                await asyncio.to_thread(asyncio.run, later()),
            ]
        )

    async def later() -> str:
        await asyncio.sleep(0)
        return slug()

    assert await told(crossing) == " ".join(["acme"] * 6)


async def test_a_pool_does_not_keep_the_context_of_the_call_that_created_it() -> None:
    pools: list[Any] = []
    made, go_on = threading.Event(), threading.Event()

    def makes_pools_and_goes_on() -> str:
        pools.extend([ThreadPool(1), ThreadPoolExecutor(1)])
        pools[1].submit(int).result()
        made.set()
        go_on.wait(10)
        return "over"

    def uses_a_pool() -> str:
        return str(pools[0].apply(slug))

    first = asyncio.create_task(told(makes_pools_and_goes_on, ACME))
    await asyncio.to_thread(made.wait, 10)
    with pytest.raises(LookupError):
        await told(uses_a_pool, GLOBEX)
    with pytest.raises(LookupError):
        pools[1].submit(slug).result()
    go_on.set()
    assert await first == "over"
    pools[0].terminate()
    pools[1].shutdown()


async def test_code_that_outlives_a_call_no_longer_has_its_context() -> None:
    go = threading.Event()
    seen: list[str] = []

    def worker() -> None:
        go.wait(10)
        try:
            seen.append(slug())
        except LookupError as exc:
            seen.append(str(exc))

    threads: list[threading.Thread] = []

    def starts_a_worker() -> None:
        threads.append(threading.Thread(target=worker))
        threads[0].start()

    await told(starts_a_worker)
    go.set()
    await asyncio.to_thread(threads[0].join)
    assert "has ended" in seen[0]


async def test_concurrent_calls_have_separate_contexts() -> None:
    async def waits(context: ToolContext) -> str:
        await asyncio.sleep(0)
        inner = await asyncio.gather(*(asyncio.to_thread(slug) for _ in range(5)))
        return f"{context.tenant.slug}: {set(inner)}"

    found = await asyncio.gather(*(told(waits, context) for context in (ACME, GLOBEX) * 10))
    assert found == ["acme: {'acme'}", "globex: {'globex'}"] * 10


async def test_a_nested_tool_has_its_own_context_and_restores_the_outer_one() -> None:
    async def outer() -> str:
        before = slug()
        inner = (await Tool.from_function(slug, description="Say.").call("", GLOBEX)).content
        return f"{before} {inner} {slug()}"

    assert await told(outer) == "acme globex acme"


async def test_a_failing_tool_leaves_no_context_behind() -> None:
    async def fails() -> None:
        raise ToolError("no")

    with pytest.raises(ToolError):
        await told(fails)
    with pytest.raises(LookupError):
        current_context()


def test_threads_outside_tools_are_not_affected() -> None:
    seen: list[str] = []
    thread = threading.Thread(target=seen.append, args=("ran",))
    thread.start()
    thread.join()
    with use_context(ACME):
        pass
    assert seen == ["ran"]
    assert "run" not in vars(thread)


async def test_progress_is_reported_from_async_and_sync_tools() -> None:
    reports: list[tuple[float, float | None, str]] = []

    async def note(done: float, total: float | None, message: str) -> None:
        asyncio.current_task()  # on the loop, wherever it was reported
        reports.append((done, total, message))

    @tool
    async def counts(context: ToolContext) -> None:
        """Count."""
        await context.report_progress(1, 2, "half")

    @tool
    def counts_in_a_thread(context: ToolContext) -> None:
        """Count."""
        context.report_progress(2, 2)

    context = dataclasses.replace(ACME, progress=note)
    await counts.call("", context)
    await counts_in_a_thread.call("", context)
    while len(reports) < 2:
        await asyncio.sleep(0)
    assert reports == [(1, 2, "half"), (2, 2, "")]


async def test_progress_without_a_listener_is_ignored() -> None:
    await ACME.report_progress(1)


def test_a_context_is_not_copied_by_accident() -> None:
    with pytest.raises(TypeError):
        dataclasses.asdict(ToolContext(secrets={"api": "s3cr3t"}))
    with pytest.raises(TypeError):
        copy.deepcopy(ToolContext(secrets={"api": "s3cr3t"}))
