"""Definitions of tools: schema, calls, and the errors for the model."""

from __future__ import annotations

import asyncio
import enum
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from assistant.toolkit import (
    Example,
    InvalidArguments,
    InvalidTool,
    Param,
    TenantInfo,
    Tool,
    ToolContext,
    ToolError,
    current_context,
    tool,
    tools_of,
)

ACME = ToolContext(tenant=TenantInfo(id=1, slug="acme"))
GLOBEX = ToolContext(tenant=TenantInfo(id=2, slug="globex"))


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    zip_code: Annotated[str, Param("The postal code", pattern=r"\d+")]


@dataclass
class Person:
    name: str
    age: int = 0


async def call(made: Tool, arguments: Any = "{}", context: ToolContext = ACME) -> str:
    return (await made.call(arguments, context)).content


def test_the_schema_follows_the_signature() -> None:
    @tool
    def move(who: Annotated[int, Param("Whose number", ge=1)], to: Address, colour: Colour = Colour.RED) -> str:
        """Move somebody.

        Only the first paragraph is read by the model.
        """
        return "moved"

    assert (move.name, move.description) == ("move", "Move somebody.")
    assert move.parameters["required"] == ["who", "to"]
    assert move.parameters["additionalProperties"] is False
    assert move.parameters["properties"]["who"] == {"type": "integer", "minimum": 1, "description": "Whose number"}
    assert "title" not in json.dumps(move.parameters)


async def test_the_context_is_found_by_its_annotation_anywhere() -> None:
    @tool
    def first(context: ToolContext, x: int) -> str:
        """Say."""
        return f"{context.tenant.slug} {x}"

    @tool
    def last(x: int, *, ctx: ToolContext | None = None) -> str:
        """Say."""
        return f"{ctx.tenant.slug if ctx else None} {x}"

    @tool
    async def without(x: int) -> str:
        """Say."""
        return f"{current_context().tenant.slug} {x}"

    for made in (first, last, without):
        assert set(made.parameters["properties"]) == {"x"}
        assert await call(made, {"x": 1}) == "acme 1"


async def test_the_context_cannot_be_given_by_the_model() -> None:
    @tool
    def whoami(context: ToolContext) -> str:
        """Say."""
        return context.tenant.slug

    for sneaky in ({"context": {"tenant": "globex"}}, {"tenant": "globex"}, {"ctx": 1}):
        with pytest.raises(InvalidArguments):
            await whoami.call(sneaky, ACME)


async def test_the_current_context_holds_in_threads_pools_and_tasks() -> None:
    seen: list[str] = []

    def note() -> None:
        seen.append(current_context().tenant.slug)

    @tool
    def threaded() -> None:
        """Start threads."""
        thread = threading.Thread(target=note)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(note).result()

    @tool
    async def tasked() -> None:
        """Start tasks."""
        await asyncio.create_task(asyncio.to_thread(note))

    await call(threaded)
    await call(tasked)
    assert seen == ["acme"] * 3


async def test_a_shared_pool_never_mixes_two_tenants() -> None:
    pool = ThreadPoolExecutor(1)

    @tool
    def through_pool() -> str:
        """Use a pool that other calls use."""
        return pool.submit(lambda: current_context().tenant.slug).result()

    assert await call(through_pool, context=ACME) == "acme"
    assert await call(through_pool, context=GLOBEX) == "globex"
    with pytest.raises(LookupError):
        pool.submit(current_context).result()
    pool.shutdown()


def test_there_is_no_current_context_outside_a_tool() -> None:
    with pytest.raises(LookupError):
        current_context()


async def test_sync_tools_run_concurrently_off_the_event_loop() -> None:
    barrier = threading.Barrier(5, timeout=10)

    @tool
    def meet() -> str:
        """Wait for the others."""
        barrier.wait()
        return str(threading.get_ident())

    names = await asyncio.gather(*(call(meet) for _ in range(5)))
    assert len(set(names)) == 5


@pytest.mark.parametrize("wrong", ["maxlength", "minimum", "example"])
def test_a_constraint_that_param_does_not_have_is_refused_with_those_that_it_has(wrong: str) -> None:
    with pytest.raises(
        InvalidTool, match=rf"Param\(\) has no options named {wrong}\. There are: .*examples.*max_length"
    ):
        Param("The name", **{wrong: 5})


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"n": 0}, "n"),
        ({}, "n: missing"),
        ({"n": 1, "m": 2}, "m: unknown argument. Known arguments: n"),
        ('{"n": 1, "n": 2}', "twice"),
        ('{"n": NaN}', "NaN"),
        ("[1]", "object"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "levels deep"),
        ('{"n": "' + "x" * 300_000 + '"}', "longer"),
    ],
)
async def test_wrong_arguments_are_named_and_nothing_runs(arguments: Any, names: str) -> None:
    ran: list[int] = []

    @tool
    def count(n: Annotated[int, Param("How many", ge=1)]) -> None:
        """Count."""
        ran.append(n)

    with pytest.raises(InvalidArguments, match=names):
        await count.call(arguments, ACME)
    assert ran == []


@pytest.mark.parametrize("nothing", ["", "null", "  ", None, {}])
async def test_no_arguments_are_an_empty_object(nothing: Any) -> None:
    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    assert await call(ping, nothing) == "pong"


async def test_defaults_of_the_function_hold() -> None:
    marker = object()

    @tool
    def plain(x: int = 3, y: Any = marker) -> str:
        """Say."""
        return f"{x} {y is marker}"

    assert await call(plain) == "3 True"


async def test_names_that_pydantic_reserves_are_fine() -> None:
    @tool
    def odd(copy: bool, json: str, model_config: int, _hidden: int = 1) -> str:
        """Say."""
        return f"{copy} {json} {model_config} {_hidden}"

    assert await call(odd, {"copy": True, "json": "j", "model_config": 2, "_hidden": 5}) == "True j 2 5"


async def test_an_object_can_be_the_single_input() -> None:
    def greet(person: Person, context: ToolContext) -> str:
        """Greet."""
        return f"{person.name} {person.age} {context.tenant.slug}"

    made = Tool.from_function(greet, input_type=Person)
    assert made.parameters["required"] == ["name"]
    assert await call(made, {"name": "Ann", "age": 3}) == "Ann 3 acme"
    with pytest.raises(InvalidArguments, match="name: missing"):
        await made.call({}, ACME)


async def test_a_hand_written_schema_takes_a_handler() -> None:
    made = Tool(
        name="raw",
        description="Raw.",
        parameters={"type": "object", "properties": {"x": {}}},
        handler=lambda arguments: arguments["x"],
    )
    assert await call(made, {"x": "y"}) == "y"


async def test_methods_of_an_object_are_tools() -> None:
    class Desk:
        def __init__(self, name: str) -> None:
            self.name = name

        @tool
        def hello(self, n: int) -> str:
            """Say hello."""
            return f"{self.name} {n}"

        @staticmethod
        @tool
        def fixed() -> str:
            """Say fixed."""
            return "fixed"

        @classmethod
        @tool
        def kind(cls) -> str:
            """Say kind."""
            return cls.__name__

    made = {item.name: item for item in tools_of(Desk("front"))}
    assert await call(made["hello"], {"n": 1}) == "front 1"
    assert await call(made["fixed"]) == "fixed"
    assert await call(made["kind"]) == "Desk"


async def test_generators_are_collected_and_cut_visibly() -> None:
    @tool
    def many() -> Iterator[int]:
        """Count for ever."""
        n = 0
        while True:
            yield (n := n + 1)

    @tool
    async def many_async() -> AsyncIterator[int]:
        """Count for ever."""
        n = 0
        while True:
            yield (n := n + 1)

    for made in (many, many_async):
        items = json.loads(await call(made))
        assert items[:2] == [1, 2]
        assert "Cut" in items[-1]


async def test_a_tool_error_and_other_errors_go_to_the_caller_as_they_are() -> None:
    @tool
    def fail(how: Literal["told", "crash"]) -> None:
        """Fail."""
        if how == "told":
            raise ToolError("Not on Sundays.")
        raise RuntimeError("secret detail")

    with pytest.raises(ToolError, match="Sundays"):
        await fail.call({"how": "told"}, ACME)
    with pytest.raises(RuntimeError):
        await fail.call({"how": "crash"}, ACME)


def no_description(x: int) -> None: ...


def untyped(x) -> None:  # type: ignore[no-untyped-def]
    """Say."""


def variadic(*args: int) -> None:
    """Say."""


def of_a_lock(x: threading.Lock) -> None:
    """Say."""


@pytest.mark.parametrize("function", [no_description, untyped, variadic, of_a_lock])
def test_a_function_that_a_model_cannot_call_is_refused_at_definition(function: Any) -> None:
    with pytest.raises(InvalidTool):
        Tool.from_function(function)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "é"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(InvalidTool):
        Tool(name=name, description="x", parameters={"type": "object"})


def test_an_example_must_fit_the_schema() -> None:
    with pytest.raises(InvalidTool, match="example"):

        @tool(examples=[Example("Count to x", {"n": "x"})])
        def count(n: int) -> None:
            """Count."""


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_any_json_argument_is_accepted_or_refused(value: Any) -> None:
    @tool
    def take(n: int, names: list[str] = []) -> None:  # noqa: B006 - the schema's default
        """Take."""

    for text in (json.dumps(value), json.dumps({"n": value}), json.dumps({"n": 1, "names": value})):
        try:
            take.check(text)
        except InvalidArguments as exc:
            assert str(exc)


async def _says_no(*given: Any) -> bool:
    return False


@pytest.mark.parametrize(
    "option",
    [
        "read_only",
        "enabled_by_default",
        "idempotent",
        "destructive",
        "open_world",
        "untrusted",
        "lists_choices",
        "return_direct",
        "barrier",
        "waits",
        "atomic",
        "is_client_side",
        "is_provider_side",
    ],
)
@pytest.mark.parametrize("value", [_says_no, lambda: False, "no", 1], ids=["async", "sync", "text", "number"])
def test_an_option_of_yes_or_no_is_one(option: str, value: Any) -> None:
    made = Tool(name="take", description="Take.", parameters={"type": "object"}, handler=lambda given: given)
    with pytest.raises(InvalidTool, match=f"The {option} of tool 'take' must be True"):
        made.replace(**{option: value})


@pytest.mark.parametrize("option", ["read_only", "enabled_by_default", "waits"])
def test_only_what_may_be_unknown_is_none(option: str) -> None:
    made = Tool(name="take", description="Take.", parameters={"type": "object"}, handler=lambda given: given)
    assert made.replace(destructive=None, open_world=None).destructive is None
    with pytest.raises(InvalidTool, match=option):
        made.replace(**{option: None})


def test_the_package_imports_without_django() -> None:
    import subprocess
    import sys

    code = "import sys, tools; sys.exit(any(name.split('.')[0] == 'django' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("timeout", "5", "The timeout of tool 'count' must be a number of seconds, not a str"),
        ("retries", "2", "The retries of tool 'count' must be a whole number, not a str"),
        ("max_calls", True, "The max_calls of tool 'count' must be a whole number, not a bool"),
        ("permission", "change_order", "Tool 'count' must have a permission such as \"app.codename\""),
    ],
)
def test_an_option_of_another_type_is_refused_by_name(option: str, value: object, told: str) -> None:
    count = Tool.from_function(lambda: 1, name="count", description="Count.")
    with pytest.raises(InvalidTool, match=re.escape(told)):
        count.replace(**{option: value})
