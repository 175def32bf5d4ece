"""What the cache of results keeps apart: a result is returned only to a call that would read the same."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.utils import translation
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from pydantic import BaseModel, SecretStr

from assistant.client import ChatClient
from assistant.client.result_cache import Cache
from assistant.client.value_keys import key_of
from assistant.core.extensions.interceptors import CallTool, Invocation, ToolInterceptor
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.values.messages import ToolCall
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import TenantInfo, Tool, ToolContext, ToolResult, current_context, tool, tools_of
from tests.core.scripted_turns import run_script

CALLS: list[int] = []


@tool(read_only=True, idempotent=True)
async def lookup(number: int, context: ToolContext) -> str:
    """Look a customer up."""
    CALLS.append(number)
    return f"card 4111-1111 of {number} at {context.tenant.slug}"


@pytest.fixture(autouse=True)
def _nothing_called_yet() -> None:
    CALLS.clear()


def ask(number: int = 42) -> ToolCall:
    return ToolCall("", "lookup", f'{{"number":{number}}}')


@dataclass
class Shelf:
    owner: str
    books: list[str] = field(default_factory=list)


class Connection:
    """What is read from it may change while it stays the same object."""

    def __init__(self, owner: str) -> None:
        self.owner = owner


# How often the tool of each reader was called: not in the reader, which its tool would read.
READS: list[int] = []


class Reader:
    """Has a tool that returns what `read` finds in its context."""

    def __init__(self, read: Callable[[ToolContext], object]) -> None:
        number = self._number = len(READS)
        READS.append(0)

        @tool(read_only=True, idempotent=True)
        async def look(context: ToolContext) -> str:
            """Look at the context."""
            READS[number] += 1
            return str(read(context))

        self.tool = look

    @property
    def calls(self) -> int:
        return READS[self._number]

    async def look_with(self, cache: Cache, *inner: ToolInterceptor, **given: Any) -> str:
        """Return the result of a client's call that has these settings."""
        model = ScriptedModel([ToolCall("", "look", "{}"), "ok"])
        reply = await ChatClient(model=model, tools=[self.tool], interceptors=[cache, *inner]).call("?", **given)
        return str(reply.tool_calls[0].result)


@pytest.mark.parametrize("kind", [Shelf, Connection])
async def test_dependencies_of_one_caller_are_never_anothers(kind: Any) -> None:
    cache, reader = Cache(), Reader(lambda context: context.deps.owner)
    assert await reader.look_with(cache, deps=kind("ann")) == "ann"
    assert await reader.look_with(cache, deps=kind("bob")) == "bob"


@pytest.mark.parametrize("kind", [Shelf, Connection])
async def test_dependencies_that_have_changed_are_read_again(kind: Any) -> None:
    cache, reader, deps = Cache(), Reader(lambda context: context.deps.owner), kind("ann")
    assert await reader.look_with(cache, deps=deps) == "ann"
    deps.owner = "bob"
    assert await reader.look_with(cache, deps=deps) == "bob"


async def test_equal_dependencies_and_those_that_are_not_read_share_a_result() -> None:
    cache, owners, ones = Cache(), Reader(lambda context: context.deps.owner), Reader(lambda context: 1)
    connection = Connection("ann")
    for _ in range(2):
        await owners.look_with(cache, deps=Shelf("ann"))
        await ones.look_with(cache, deps=connection)
    assert (owners.calls, ones.calls) == (1, 1)


async def test_a_changed_object_in_the_context_is_read_again() -> None:
    cache, reader, shelf = Cache(), Reader(lambda context: context.extra["shelf"].books), Shelf("ann")
    assert await reader.look_with(cache, context={"shelf": shelf}) == "[]"
    shelf.books.append("Owls")
    assert await reader.look_with(cache, context={"shelf": shelf}) == "['Owls']"


NEW_WITH_EACH_CALL: list[Callable[[ToolContext], object]] = [
    lambda context: context.history[0].content,
    lambda context: context.thread_id,
    lambda context: context.run_id,
    lambda context: context.tool_call_id,
    lambda context: context.idempotency_key,
    lambda context: context.deadline,
    lambda context: context.state,
    lambda context: context.answers,
    lambda context: context.read_sources,
    lambda context: current_context().run_id,
    lambda context: replace(context, deps=1).deps,
    repr,
]


@pytest.mark.parametrize("read", NEW_WITH_EACH_CALL)
async def test_no_result_is_kept_of_what_is_new_with_each_call(read: Callable[[ToolContext], object]) -> None:
    cache, reader = Cache(), Reader(read)
    for _ in range(2):
        await reader.look_with(cache)
    assert reader.calls == 2


async def test_what_a_thread_of_the_tool_reads_counts_too() -> None:
    calls: list[str] = []

    @tool(read_only=True, idempotent=True)
    def where() -> str:
        """Tell the thread's id."""
        calls.append(current_context().thread_id)
        return calls[-1]

    cache = Cache()
    for thread_id in ("a", "b"):
        context = ToolContext(thread_id=thread_id)
        await run_script([ToolCall("", "where", "{}"), "ok"], where, interceptors=(cache,), context=context)
    assert len(calls) == 2


async def test_each_user_and_language_has_results_of_its_own() -> None:
    cache, reader = Cache(), Reader(lambda context: f"{context.user.username} {translation.get_language()}")
    found = []
    for user in ("alice", "mallory", "alice"):
        for language in ("en", "de"):
            with translation.override(language):
                found.append(await reader.look_with(cache, context={"user": {"username": user}}))
    assert found == ["alice en", "alice de", "mallory en", "mallory de", "alice en", "alice de"]
    assert reader.calls == 4


async def test_a_result_is_kept_although_the_call_has_told_something() -> None:
    cache, reader = Cache(), Reader(lambda context: context.mark_untrusted("A mail"))
    for _ in range(2):
        await reader.look_with(cache)
    assert reader.calls == 1


class Size(BaseModel):
    number: Any


@dataclass
class Box:
    owner: str = field(compare=False)


NOON = datetime(2031, 3, 7, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ("1", b"1"),
        ([1], (1,)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Decimal("1.0"), Decimal("1.00")),
        (NOON, NOON.astimezone(timezone(timedelta(hours=1)))),
        (SecretStr("a"), SecretStr("b")),
        (Size(number=1), Size(number=True)),
        (Box("ann"), Box("bob")),
        ([[], 1], [[1]]),
        (list(range(5_000)), list(range(5_000))),
        (object(), object()),
    ],
)
def test_values_that_differ_have_different_keys(one: object, other: object) -> None:
    assert key_of(one) != key_of(other)


@pytest.mark.parametrize(
    ("value", "is_exact"),
    [
        (None, True),
        ({"a": [1, {"b": frozenset({2})}]}, True),
        (Shelf("ann", ["Owls"]), True),
        (Size(number={"a": NOON}), True),
        (ToolContext(extra={"a": [1]}).extra, True),
        (TenantInfo(1, "acme"), True),
        ({"a": Connection("ann")}, False),
        (Size(number=Connection("ann")), False),
        ([0] * 5_000, False),
        (len, False),
    ],
)
def test_a_key_says_whether_it_has_all_of_the_value(value: object, is_exact: bool) -> None:
    assert key_of(value) == key_of(value)
    assert key_of(copy.copy(value)).is_exact is key_of(value).is_exact is is_exact


def test_a_value_that_contains_itself_has_a_key() -> None:
    values: list[object] = []
    values.append(values)
    assert not key_of(values).is_exact


async def test_idempotent_calls_are_cached_separately_for_each_tenant() -> None:
    cache = Cache()
    for slug in ("acme", "acme", "globex"):
        context = ToolContext(tenant=TenantInfo(slug=slug))
        turn = await run_script([ask(), "ok"], lookup, interceptors=(cache,), context=context)
        assert f"at {slug}" in turn.results[0]
    assert CALLS == [42, 42]


async def test_calls_with_a_different_context_are_cached_separately() -> None:
    """A program can identify its tenants by values in `extra`, and a setting can change."""
    cache = Cache()
    extras: list[Any] = [{"tenant_id": "acme"}, {"tenant_id": "globex"}, {"rows": [1]}, {"rows": [2]}]
    keyed = lookup.replace(secrets=["key"])
    toolsets = [FixedToolset([keyed], secrets={"lookup": {"key": key}}) for key in "ab"]
    toolsets += [FixedToolset([lookup], configs={"lookup": config}) for config in ("a", "b")]
    for extra in (*extras, *extras[:2]):
        await run_script([ask(), "ok"], lookup, interceptors=(cache,), context=ToolContext(extra=extra))
    assert len(CALLS) == len(extras)
    for toolset in toolsets:
        await run_script([ask(), "ok"], toolset=toolset, interceptors=(cache,))
    assert len(CALLS) == len(extras) + len(toolsets)


async def test_calls_of_other_objects_or_with_other_arguments_are_cached_separately() -> None:
    @dataclass
    class Desk:
        city: str

        @tool(read_only=True, idempotent=True)
        def where(self, word: SecretStr) -> str:
            """Tell where the desk is."""
            CALLS.append(0)
            return f"{self.city} {word.get_secret_value()}"

    cache, vienna, graz = Cache(), Desk("Vienna"), Desk("Graz")
    for desk, word in ((vienna, "a"), (graz, "a"), (graz, "b"), (graz, "b"), (vienna, "a")):
        call = ToolCall("", "where", f'{{"word":"{word}"}}')
        turn = await run_script([call, "ok"], *tools_of(desk), interceptors=(cache,))
        assert turn.results == [f"{desk.city} {word}"]
    assert len(CALLS) == 3


WHO: ContextVar[Any] = ContextVar("who")


@tool(read_only=True, idempotent=True)
def who() -> str:
    """Tell who asks."""
    CALLS.append(0)
    return str(getattr(WHO.get(), "owner", WHO.get()))


@pytest.mark.parametrize("kind", [str, Connection])
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_the_program_has_set_for_one_caller_is_never_anothers(kind: Any, is_async: bool) -> None:
    @tool(name="who", read_only=True, idempotent=True)
    async def who_async() -> str:
        """Tell who asks."""
        return str(getattr(WHO.get(), "owner", WHO.get()))

    cache = Cache()
    for name in ("ann", "bob"):
        WHO.set(kind(name))
        asked = who_async if is_async else who
        turn = await run_script([ToolCall("", "who", "{}"), "ok"], asked, interceptors=(cache,))
        assert turn.results == [name]


async def test_equal_values_that_the_program_has_set_share_a_result() -> None:
    cache = Cache()
    for name in ("ann", "bob", "ann"):
        WHO.set(name)
        await run_script([ToolCall("", "who", "{}"), "ok"], who, interceptors=(cache,))
    assert len(CALLS) == 2


class Counter:
    def __init__(self, owner: str) -> None:
        self.owner = owner

    def look(self) -> str:
        return self.owner

    def __call__(self) -> str:
        return self.owner


@dataclass
class Desk(Counter):
    owner: str


@pytest.mark.parametrize("kind", [Counter, Desk])
@pytest.mark.parametrize("is_method", [True, False])
async def test_an_object_that_has_changed_is_read_again(kind: Any, is_method: bool) -> None:
    cache, owner = Cache(), kind("ann")
    handler = owner.look if is_method else owner
    look = Tool.from_function(handler, name="look", description="Look.", read_only=True, idempotent=True)
    for name in ("ann", "bob"):
        owner.owner = name
        turn = await run_script([ToolCall("", "look", "{}"), "ok"], look, interceptors=(cache,))
        assert turn.results == [name]


@pytest.mark.parametrize("kind", [str, Shelf, Connection])
@pytest.mark.parametrize("is_wrapped", [False, True])
async def test_what_a_tool_closes_over_is_read_again_when_it_has_changed(kind: Any, is_wrapped: bool) -> None:
    owner = kind("ann")
    asked = functools.partial(lambda given: str(getattr(owner, "owner", owner)) + given, "!")
    now = (lambda: asked()) if is_wrapped else asked  # noqa: PLW0108 - a function within a function
    look = Tool.from_function(lambda: now(), name="look", description="Look.", read_only=True, idempotent=True)  # noqa: PLW0108
    cache, found = Cache(), []
    for name in ("ann", "bob"):
        if kind is str:
            owner = name
        else:
            owner.owner = name
        turn = await run_script([ToolCall("", "look", "{}"), "ok"], look, interceptors=(cache,))
        found += turn.results
    assert found == ["ann!", "bob!"]


async def test_equal_values_that_a_tool_closes_over_share_a_result() -> None:
    cache = Cache()
    shelf = Shelf("ann", ["Owls"])

    def books() -> int:
        CALLS.append(0)
        return len(shelf.books)

    look = Tool.from_function(lambda: books(), name="look", description="Look.", read_only=True, idempotent=True)  # noqa: PLW0108
    for _ in range(2):
        await run_script([ToolCall("", "look", "{}"), "ok"], look, interceptors=(cache,))
        shelf = Shelf("ann", ["Owls"])
    assert len(CALLS) == 1


ACCOUNT = Counter("ann")


def _acts_as(invocation: Invocation) -> Invocation:
    deps = invocation.context.history[0].content
    return replace(invocation, context=replace(invocation.context, deps=deps))


def _makes_a_context(invocation: Invocation) -> Invocation:
    return replace(invocation, context=ToolContext(deps=ACCOUNT.owner))


@pytest.mark.parametrize("change", [_acts_as, _makes_a_context])
async def test_what_an_interceptor_within_the_cache_gives_one_caller_is_never_anothers(change: Any) -> None:
    async def changes(invocation: Invocation, call: CallTool) -> ToolResult:
        return await call(change(invocation))

    cache, reader = Cache(), Reader(lambda context: context.deps)
    for name in ("ann", "bob"):
        ACCOUNT.owner = name
        model = ScriptedModel([ToolCall("", "look", "{}"), "ok"])
        client = ChatClient(model=model, tools=[reader.tool], interceptors=[cache, changes])
        reply = await client.call(name)
        assert reply.tool_calls[0].result == name


async def test_an_interceptor_within_the_cache_that_changes_only_results_lets_them_be_kept() -> None:
    async def shouts(invocation: Invocation, call: CallTool) -> ToolResult:
        result = await call(invocation)
        return replace(result, content=result.content.upper())

    cache, reader = Cache(), Reader(lambda context: context.deps)
    assert [await reader.look_with(cache, shouts, deps="ann") for _ in range(2)] == ["ANN", "ANN"]
    assert reader.calls == 1


async def test_other_calls_are_not_cached() -> None:
    cache = Cache()
    for _ in range(2):
        await run_script([ask(), "ok"], lookup.replace(idempotent=False), interceptors=(cache,))
    assert CALLS == [42, 42]


async def test_a_full_cache_drops_the_oldest_result() -> None:
    cache = Cache(size=1)
    for number in (1, 2, 2, 1):
        await run_script([ask(number), "ok"], lookup, interceptors=(cache,))
    assert CALLS == [1, 2, 1]


async def test_a_span_is_no_reason_to_keep_nothing_but_baggage_is_in_the_key() -> None:
    cache = Cache()
    WHO.set("ann")
    for name in ("ann", "ann", "bob"):
        span = trace.NonRecordingSpan(trace.SpanContext(len(CALLS) + 1, 1, is_remote=False))
        token = otel_context.attach(baggage.set_baggage("user", name, trace.set_span_in_context(span)))
        try:
            await run_script([ToolCall("", "who", "{}"), "ok"], who, interceptors=(cache,))
        finally:
            otel_context.detach(token)
    assert len(CALLS) == 2
