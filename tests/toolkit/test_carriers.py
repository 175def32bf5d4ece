"""Carriers: what a host project sets around every tool is there in all of its threads, and nowhere afterwards."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import anyio
import pytest
from django.utils import timezone

from assistant.client import Agent, ChatClient, FixedToolset, ToolCall
from assistant.providers import ScriptedModel
from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import ToolContext, ToolError, carry, register_carrier, tool
from assistant.toolkit.calls.worker_threads import in_thread

TENANTS = ("acme", "globex")


class Connection(threading.local):
    """A connection of each thread, as Django has them, with the schema that is set on it."""

    schema = "public"


connection = Connection()


@contextmanager
def tenant_schema(context: ToolContext) -> Iterator[None]:
    before = connection.schema
    connection.schema = context.tenant.slug
    try:
        yield
    finally:
        connection.schema = before


@pytest.fixture(autouse=True)
def _schema() -> Iterator[None]:
    remove = register_carrier(tenant_schema)
    yield
    remove()


async def schema_of_the_idle_thread() -> str:
    return str(await in_thread(lambda: connection.schema))


@tool
def schema() -> str:
    """Tell the schema."""
    return connection.schema


@tool
def broken() -> str:
    """Fail."""
    raise ToolError(connection.schema)


async def test_one_pooled_thread_serves_two_tenants_in_turn() -> None:
    served: dict[threading.Thread, set[str]] = {}
    slugs = itertools.cycle(["acme", "globex"])

    @tool
    def look() -> str:
        """Look."""
        served.setdefault(threading.current_thread(), set()).add(connection.schema)
        return connection.schema

    while not any(len(tenants) == 2 for tenants in served.values()):
        slug = next(slugs)
        assert (await ToolTester(look, tenant=slug).call()).content == slug
        assert await schema_of_the_idle_thread() == "public"


async def test_it_is_restored_after_a_failure() -> None:
    assert await ToolTester(broken, tenant="acme").read() == "acme"
    assert (await schema_of_the_idle_thread(), connection.schema) == ("public", "public")


async def test_async_tools_take_turns_on_the_loops_thread_with_a_schema_of_their_own() -> None:
    seen: list[tuple[str, str]] = []

    @tool
    async def look(context: ToolContext) -> str:
        """Look, and wait for others."""
        for _ in range(3):
            seen.append((context.tenant.slug, connection.schema))
            await asyncio.sleep(0)
        return connection.schema

    calls = [asyncio.create_task(ToolTester(look, tenant=slug).call()) for slug in ("acme", "globex")]
    while not all(call.done() for call in calls):
        assert connection.schema == "public"
        await asyncio.sleep(0)
    assert [call.result().content for call in calls] == ["acme", "globex"]
    assert [slug for slug, _ in seen] == ["acme", "globex"] * 3
    assert all(slug == found for slug, found in seen)


async def test_streams_of_both_kinds_are_within() -> None:
    @tool
    def lines() -> Iterator[str]:
        """Yield lines."""
        yield connection.schema
        yield connection.schema

    @tool
    async def pieces() -> AsyncIterator[str]:
        """Yield pieces."""
        yield connection.schema
        await asyncio.sleep(0)
        yield connection.schema

    for streaming in (lines, pieces):
        assert (await ToolTester(streaming, tenant="acme").call()).content == '["acme","acme"]'
        assert (connection.schema, await schema_of_the_idle_thread()) == ("public", "public")


async def test_a_converter_finds_it_too() -> None:
    converted = schema.replace(result_converter=lambda value: f"{value} {connection.schema}")
    assert (await ToolTester(converted, tenant="acme").call()).content == "acme acme"


async def test_threads_and_pools_of_a_tool_have_it_and_give_it_back() -> None:
    with ThreadPoolExecutor(1) as pool:

        @tool
        def spread() -> list[str]:
            """Look in other threads."""
            found = [pool.submit(lambda: connection.schema).result()]
            thread = threading.Thread(target=lambda: found.append(connection.schema))
            thread.start()
            thread.join()
            return found

        @tool
        async def spread_async() -> str:
            """Look in a thread of the loop."""
            return await asyncio.to_thread(lambda: connection.schema)

        for slug in ("acme", "globex"):
            assert (await ToolTester(spread, tenant=slug).call()).value == [slug, slug]
            assert pool.submit(lambda: connection.schema).result() == "public"
            assert (await ToolTester(spread_async, tenant=slug).call()).content == slug
            assert await asyncio.to_thread(lambda: connection.schema) == "public"


async def test_tasks_of_an_async_tool_have_it_and_give_it_back() -> None:
    both = asyncio.Barrier(2)

    async def wait_and_tell() -> str:
        seen = {connection.schema}
        await both.wait()
        await asyncio.sleep(0)
        return ",".join(sorted(seen | {connection.schema}))

    @tool
    async def schemas() -> list[str]:
        """Tell the schema that tasks find: of a group, of `gather`, of a task in a task, and of anyio."""
        found: list[str] = []

        async def inner() -> None:
            await anyio.sleep(0)
            found.append(connection.schema)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(wait_and_tell())
            group.create_task(_gathered(inner))
        async with anyio.create_task_group() as others:
            others.start_soon(inner)
        return [task.result(), *found]

    results = await asyncio.gather(*(ToolTester(schemas, tenant=tenant).call() for tenant in TENANTS))
    assert [result.content for result in results] == [f'["{name}","{name}","{name}","{name}"]' for name in TENANTS]
    assert connection.schema == "public"


async def _gathered(inner: Callable[[], Coroutine[None, None, None]]) -> None:
    await asyncio.gather(inner(), inner())


async def test_a_task_that_outlives_its_call_has_it_no_more() -> None:
    go_on = asyncio.Event()
    seen: list[str] = []
    left: list[asyncio.Task[None]] = []

    async def tell() -> None:
        seen.append(connection.schema)
        await go_on.wait()
        seen.append(connection.schema)

    @tool
    async def leave() -> str:
        """Leave a task behind."""
        left.append(asyncio.create_task(tell()))
        await asyncio.sleep(0)
        return "Left."

    assert (await ToolTester(leave, tenant="acme").call()).content == "Left."
    go_on.set()
    await left[0]
    assert seen == ["acme", "public"]


@pytest.mark.filterwarnings("error")
async def test_a_carrier_is_told_of_no_failure_of_tasks_that_end_or_are_cancelled_before_they_begin() -> None:
    failures: list[BaseException] = []

    @contextmanager
    def noting(context: ToolContext) -> Iterator[None]:
        try:
            yield
        except BaseException as exc:
            failures.append(exc)
            raise

    @tool
    async def run() -> int:
        """Run a task, and cancel another."""
        asyncio.create_task(asyncio.sleep(1)).cancel()
        return await asyncio.create_task(asyncio.sleep(0, 7))

    remove = register_carrier(noting)
    try:
        assert (await ToolTester(run).call()).content == "7"
    finally:
        remove()
    assert [type(failure) for failure in failures] == [asyncio.CancelledError]


async def test_it_is_restored_when_an_async_tool_is_cancelled() -> None:
    waiting = asyncio.Event()
    cleaned = []

    @tool
    async def wait() -> None:
        """Wait."""
        try:
            waiting.set()
            await asyncio.Event().wait()
        finally:
            cleaned.append(connection.schema)

    call = asyncio.create_task(ToolTester(wait, tenant="acme").call())
    await waiting.wait()
    assert connection.schema == "public"
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert (cleaned, connection.schema) == (["acme"], "public")


async def test_a_tool_that_is_left_running_keeps_its_own_and_others_do_not_find_it() -> None:
    release = threading.Event()
    ended = threading.Event()
    seen: list[str] = []

    @contextmanager
    def watched(context: ToolContext) -> Iterator[None]:
        yield
        seen.append(connection.schema)
        ended.set()

    @tool(timeout=0.05)
    def hang() -> None:
        """Hang."""
        release.wait()
        seen.append(connection.schema)

    remove = register_carrier(watched)
    model = ScriptedModel([ToolCall("", "hang", "{}"), "Late."])
    client = ChatClient(model=model, tools=[hang], context={"tenant": {"slug": "acme"}})
    reply = await client.call("?")
    remove()
    assert reply.tool_calls[0].status == "timeout"
    assert await schema_of_the_idle_thread() == "public"
    release.set()
    assert await asyncio.to_thread(ended.wait, 10)
    assert seen == ["acme", "acme"]


async def test_a_thread_local_of_the_program_is_carried() -> None:
    local = threading.local()
    local.request = "request 1"

    @tool
    def which() -> str:
        """Tell the request."""
        return str(getattr(local, "request", None))

    @tool
    async def which_async() -> str:
        """Tell the request."""
        return str(await asyncio.to_thread(lambda: local.request))

    remove = carry(lambda: getattr(local, "request", None), lambda value: setattr(local, "request", value))
    try:
        for request in ("request 1", "request 2"):
            local.request = request
            assert (await ToolTester(which).call()).content == request
            assert (await ToolTester(which_async).call()).content == request
            assert await in_thread(lambda: getattr(local, "request", None)) is None
    finally:
        remove()
    assert (await ToolTester(which).call()).content == "None"


async def test_the_time_zone_is_the_tenants() -> None:
    def in_time_zone(context: ToolContext) -> AbstractContextManager[None]:
        return timezone.override(str(context.extra["zone"]))

    @tool
    def zone() -> str:
        """Tell the zone."""
        return timezone.get_current_timezone_name()

    @tool
    async def zone_async() -> str:
        """Tell the zone."""
        await asyncio.sleep(0)
        return timezone.get_current_timezone_name()

    before = timezone.get_current_timezone_name()
    remove = register_carrier(in_time_zone)
    try:
        for name in ("Asia/Tokyo", "America/Lima"):
            for telling in (zone, zone_async):
                assert (await ToolTester(telling, extra={"zone": name}).call()).content == name
            assert timezone.get_current_timezone_name() == before
    finally:
        remove()


async def test_one_that_fails_fails_the_call_and_those_before_it_are_restored() -> None:
    @contextmanager
    def away(context: ToolContext) -> Iterator[None]:
        if context.tenant.slug:
            raise ConnectionError("the database is away")
        yield

    remove = register_carrier(away)
    try:
        with pytest.raises(ConnectionError):
            await ToolTester(schema, tenant="acme").call()
    finally:
        remove()
    assert (await schema_of_the_idle_thread(), connection.schema) == ("public", "public")


async def test_one_that_suppresses_what_a_tool_raises_fails_the_call() -> None:
    remove = register_carrier(lambda context: suppress(ToolError))
    try:
        with pytest.raises(RuntimeError, match="suppressed"):
            await ToolTester(broken).call()
    finally:
        remove()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"read": 7, "write": print}, "read of carry must be a function, not int"),
        ({"read": str, "write": "zone"}, "write of carry must be a function, not str"),
    ],
)
def test_what_cannot_carry_a_value_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        carry(**options)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="function of the context"):
        register_carrier("tenant")  # type: ignore[arg-type]


async def test_a_called_assistants_tools_have_it() -> None:
    inner = ScriptedModel([ToolCall("", "schema", "{}"), "It is."])
    helper = Agent(name="helper", description="Helps.", model=inner, toolset=FixedToolset([schema]))
    model = ScriptedModel([ToolCall("", "helper", '{"task": "?"}'), "Done."])
    client = ChatClient(model=model, tools=[helper], context={"tenant": {"slug": "acme"}})
    await client.call("?")
    assert inner.requests[-1].messages[-1].content == "acme"
    assert connection.schema == "public"
