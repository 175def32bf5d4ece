"""Schemas and descriptions read from functions of every form, without their context."""

from __future__ import annotations

import enum
import functools
import json
import math
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import Base64Bytes, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidArguments, InvalidTool, Param, Tool, ToolContext, ToolResult, tool, tools_of
from assistant.toolkit.schema.parameters import suspicious_parameters

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTheTypeChecker

CONTEXT = ToolContext(run_id="r1")


async def said(made: Tool, arguments: Any = None) -> str:
    return (await made.call(arguments, CONTEXT)).content


def described(function: Callable[..., Any], **options: Any) -> Tool:
    return Tool.from_function(function, description="Do it.", **options)


def properties(made: Tool) -> dict[str, Any]:
    found: dict[str, Any] = made.parameters["properties"]
    return found


def google(a: int, b: str = "") -> None:
    """Do the thing,
    on two lines.

    More that no model reads.

    Args:
        a: How many
            there are.
        b (str): Which.

    Returns:
        Nothing: at all.
    """


def numpy(a: int, b: str = "") -> None:
    """Do the thing, on two lines.

    Parameters
    ----------
    a : int
        How many there are.
    b : str, optional
        Which.
    """


def sphinx(a: int, b: str = "") -> None:
    """Do the thing, on two lines.
    :param a: How many there are.
    :param str b: Which.
    :returns: nothing
    """


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_a_docstring_describes_the_tool_and_its_parameters(function: Any) -> None:
    made = tool(function)
    assert made.description == "Do the thing, on two lines."
    assert [item["description"] for item in properties(made).values()] == ["How many there are.", "Which."]


def test_a_given_description_wins_over_the_docstring() -> None:
    def find(a: Annotated[int, Param("Given.")], b: int) -> None:
        """Find.

        Args:
            a: From the docstring.
            b: Filled in.
        """

    made = Tool.from_function(find, description="Given too.")
    assert made.description == "Given too."
    assert [item["description"] for item in properties(made).values()] == ["Given.", "Filled in."]


class Ways:
    """A function with the context at any position."""

    def first(context: ToolContext, n: int) -> str:  # noqa: N805
        return f"{context.run_id} {n}"

    def last(n: int, my_context: ToolContext) -> str:  # noqa: N805
        return f"{my_context.run_id} {n}"

    def keyword(n: int, *, c: ToolContext) -> str:  # noqa: N805
        return f"{c.run_id} {n}"

    def optional(n: int, c: Optional[ToolContext] = None) -> str:  # noqa: N805, UP045
        return f"{c.run_id if c else None} {n}"

    def united(n: int, c: ToolContext | None) -> str:  # noqa: N805
        return f"{c.run_id if c else None} {n}"

    def text(n: int, c: "ToolContext") -> str:  # noqa: N805, UP037
        return f"{c.run_id} {n}"

    def noted(n: int, c: Annotated[ToolContext, "the context"]) -> str:  # noqa: N805
        return f"{c.run_id} {n}"

    def twice(a: ToolContext, n: int, b: ToolContext) -> str:  # noqa: N805
        assert a is b
        return f"{a.run_id} {n}"

    async def waiting(n: int, c: ToolContext) -> str:  # noqa: N805
        return f"{c.run_id} {n}"


@pytest.mark.parametrize("way", [value for name, value in vars(Ways).items() if not name.startswith("__")])
async def test_the_context_is_given_and_never_in_the_schema(way: Any) -> None:
    made = described(way)
    assert list(properties(made)) == ["n"]
    assert "ontext" not in json.dumps(made.parameters)
    assert await said(made, {"n": 1}) == "r1 1"
    assert made.strict_parameters() is not None


async def test_a_context_that_is_imported_for_the_type_checker_alone_is_found() -> None:
    module = types.ModuleType("apart")
    code = (
        "from __future__ import annotations\n"
        "def f(n: int, context: ToolContext) -> OnlyForTheTypeChecker:\n    return context.run_id\n"
    )
    exec(code, module.__dict__)
    made = described(module.f)
    assert (list(properties(made)), await said(made, {"n": 1})) == (["n"], "r1")


def test_an_unreadable_return_type_is_ignored() -> None:
    def f() -> OnlyForTheTypeChecker: ...

    assert described(f).output_schema is None


def test_an_unreadable_parameter_type_is_refused() -> None:
    def f(n: OnlyForTheTypeChecker) -> None: ...

    with pytest.raises(InvalidTool, match="OnlyForTheTypeChecker"):
        described(f)


class Level(enum.Enum):
    """How high."""

    HIGH = "high"


class Tree(BaseModel):
    """A tree."""

    value: Annotated[int, Param("What it holds")]
    children: list[Tree] = []


@dataclass
class Spot:
    """A spot."""

    x: Annotated[float, Field(ge=0, description="From the left")]
    y: float = 0


class Keys(TypedDict, total=False):
    a: int


def test_every_type_has_its_schema() -> None:
    def f(
        level: Level,
        tree: Tree,
        spot: Spot,
        keys: Keys,
        literal: Literal["a", 1],
        pair: tuple[int, str],
        free: dict[str, int],
        either: Union[int, list[str]] = 3,  # noqa: UP007
        maybe: int | None = None,
    ) -> None: ...

    made = described(f)
    shown = json.dumps(made.parameters)
    assert "title" not in shown
    for words in ("What it holds", "From the left", "How high.", '"high"', '"prefixItems"'):
        assert words in shown
    assert made.parameters["required"] == ["level", "tree", "spot", "keys", "literal", "pair", "free"]
    assert all(
        node["additionalProperties"] is False for node in made.parameters["$defs"].values() if "properties" in node
    )


def test_a_parameter_named_title_or_properties_stays() -> None:
    def f(title: str, properties: int, required: str) -> None: ...

    made = described(f)
    given = {"title": "t", "properties": 1, "required": "x"}
    assert list(properties(made)) == ["title", "properties", "required"]
    assert made.check(given) == given


def test_defaults_in_every_form_hold() -> None:
    def f(
        a: int = 1,
        b: int = None,  # type: ignore[assignment]  # noqa: RUF013
        c: Annotated[int, Param("C", ge=1)] = 3,
        d: int = Param("D", default=4, ge=1),
        e: list[int] = Param("E", default_factory=lambda: [5]),  # noqa: B008
        f: Annotated[int, Field(default=6)] = Param("F"),
    ) -> str:
        return f"{a} {b} {c} {d} {e} {f}"

    made = described(f)
    assert "required" not in made.parameters
    assert made.check({"b": None}) == {"b": None, "d": 4, "e": [5], "f": 6}
    with pytest.raises(InvalidArguments):
        made.check({"d": 0})


async def test_a_default_in_the_annotation_alone_is_passed_on() -> None:
    def f(n: Annotated[int, Field(default=6)]) -> str:
        return str(n)

    assert await said(described(f)) == "6"


async def test_any_callable_can_be_a_tool() -> None:
    class Adder:
        def __call__(self, n: int, context: ToolContext) -> str:
            return f"{n} {context.run_id}"

    class Waiter:
        async def __call__(self, n: int) -> str:
            return f"{n} waited"

    def bound(secret: str, n: int, *, other: int = 0) -> str:
        return f"{secret} {n} {other}"

    def wrap(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return "wrapped " + function(*args, **kwargs)

        return wrapper

    made = [
        described(Adder(), name="a"),
        described(Waiter(), name="b"),
        described(functools.partial(bound, "s"), name="c"),
        described(functools.partial(bound, secret="s", other=1), name="d"),
        described(wrap(functools.partial(bound, "s")), name="e"),
        described(Adder().__call__, name="f"),
    ]
    assert [await said(one, {"n": 1}) for one in made] == [
        "1 r1",
        "1 waited",
        "s 1 0",
        "s 1 1",
        "wrapped s 1 0",
        "1 r1",
    ]
    assert all("secret" not in properties(one) for one in made)
    with pytest.raises(InvalidArguments):
        made[3].check({"n": 1, "other": 9})


async def test_a_schema_can_be_given_for_a_plain_callable() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for handler in (lambda n: f"{n}", lambda arguments: f"{arguments['n']}", lambda **given: f"{given['n']}"):
        made = Tool.from_function(handler, name="x", description="X.", parameters=schema)
        assert await said(made, {"n": 1}) == "1"
    with_context = Tool(name="x", description="X.", parameters=schema, handler=lambda n, context: context.run_id)
    assert await said(with_context, {"n": 1}) == "r1"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x, "no type annotation"),
        (math.hypot, "given by name|cannot be read"),
        (lambda *args: args, "given by name"),
        (lambda **kwargs: kwargs, "given by name"),
        (3, "not a function"),
        (described(google), "not a function"),
    ],
)
def test_what_cannot_be_called_is_refused(function: Any, words: str) -> None:
    with pytest.raises(InvalidTool, match=words):
        Tool.from_function(function, name="f", description="F.")


@pytest.mark.parametrize(
    "options",
    [
        {"name": "no spaces"},
        {"name": "ünique"},
        {"name": "x\n"},
        {"description": "  "},
        {"timeout": 0},
        {"max_calls": 0},
        {"retries": -1},
        {"on_error": "ignore"},
        {"config": dict},
        {"secrets": "one"},
        {"colour": "red"},
        {"parameters": {"type": "array"}},
        {"parameters": {"type": "object", "properties": {"b": {}}}},
    ],
)
def test_an_invalid_definition_is_refused(options: dict[str, Any]) -> None:
    def f(a: int, z: int) -> None:
        """Do."""

    with pytest.raises(InvalidTool):
        Tool.from_function(f, **options)


def test_only_a_sync_function_can_be_atomic() -> None:
    async def f() -> None: ...

    with pytest.raises(InvalidTool, match="atomic"):
        described(f, atomic=True)


def test_one_object_can_be_the_input() -> None:
    def f(context: ToolContext, tree: Tree) -> Spot: ...

    made = described(f, input_type=Tree)
    assert list(properties(made)) == ["value", "children"]
    assert made.check({"value": 1, "children": [{"value": "2"}]}) == {"tree": Tree(value=1, children=[Tree(value=2)])}
    assert made.output_schema is not None
    assert set(made.output_schema["properties"]) == {"x", "y"}
    for wrong in ({"value": 1, "z": 1}, {"value": 1, "children": [{"value": 1, "z": 1}]}, {}):
        with pytest.raises(InvalidArguments):
            made.check(wrong)
    for wrong_type in (int, list[int]):
        with pytest.raises(InvalidTool):
            described(f, input_type=wrong_type)


@pytest.mark.parametrize(
    ("input_type", "schema", "value"),
    [
        (str, {"type": "string"}, "Hi"),
        (list[int], {"type": "array", "items": {"type": "integer"}}, [1]),
        (date, {"type": "string", "format": "date"}, "2026-11-28"),
    ],
)
def test_a_single_value_can_be_the_input(input_type: Any, schema: object, value: object) -> None:
    made = Tool.from_function(lambda value: f"{value}!", name="echo", description="Echo.", input_type=input_type)
    assert made.parameters["properties"] == {"value": schema}
    assert made.parameters["required"] == ["value"]
    assert isinstance(made.check({"value": value})["value"], typing.get_origin(input_type) or input_type)
    with pytest.raises(InvalidArguments):
        made.check({"value": {}})


async def test_suppliers_and_consumers_are_tools() -> None:
    kept: list[str] = []
    supplier = Tool.from_function(lambda: "noon", name="clock", description="Tell the time.")
    consumer = Tool.from_function(
        lambda text: kept.append(f"{text}!"), name="keep", description="Keep.", input_type=str
    )
    assert await said(supplier) == "noon"
    assert await said(consumer, {"text": "a"}) == "Done"
    assert kept == ["a!"]


def test_a_function_that_takes_nothing_by_name_says_what_to_do() -> None:
    with pytest.raises(InvalidTool, match=r"parameter 'object' cannot be given by name\. Wrap it in a lambda\."):
        Tool.from_function([].append, name="keep", description="Keep.", input_type=str)


def test_an_unknown_option_lists_those_that_exist() -> None:
    with pytest.raises(InvalidTool, match=r"no options named retires\. There are: .*retries"):
        described(lambda: "x", retires=3)


def test_what_a_tool_returns_has_a_schema_if_it_says_so() -> None:
    def spots() -> list[Spot]: ...
    def result() -> ToolResult: ...
    def text() -> str: ...

    assert (described(spots).output_schema or {})["type"] == "array"
    assert described(result).output_schema is None
    assert described(text).output_schema is None
    assert described(spots, result_converter=str).output_schema is None


class Desk:
    def __init__(self, name: str = "front") -> None:
        self.name = name

    @tool
    def hello(self, n: int, context: ToolContext) -> str:
        """Say hello."""
        return f"{self.name} {n} {context.run_id}"

    @tool
    @staticmethod
    def fixed() -> str:
        """Say fixed."""
        return "fixed"

    @classmethod
    @tool
    def inner(cls) -> str:
        """Say kind."""
        return cls.__name__

    @tool(name="outer_kind")
    @classmethod
    def outer(cls) -> str:
        """Say kind."""
        return cls.__name__


class BackDesk(Desk):
    @tool
    def extra(self) -> str:
        """Say more."""
        return self.name

    fixed = None  # type: ignore[assignment]


async def test_methods_are_tools_bound_to_their_object() -> None:
    made = {one.name: one for one in tools_of(BackDesk("back"))}
    assert list(made) == ["hello", "inner", "outer_kind", "extra"]
    assert await said(made["hello"], {"n": 1}) == "back 1 r1"
    assert [await said(made[name]) for name in ("inner", "outer_kind", "extra")] == ["BackDesk", "BackDesk", "back"]
    assert [one.name for one in tools_of(Desk())] == ["hello", "fixed", "inner", "outer_kind"]


async def test_a_tool_is_still_the_function_or_method_that_it_was() -> None:
    desk = Desk()
    assert desk.hello(1, CONTEXT) == "front 1 r1"
    assert desk.hello.name == "hello"
    assert (Desk.inner(), desk.outer(), desk.fixed()) == ("Desk", "Desk", "fixed")
    assert tool(google)(1) is None


def test_instance_methods_of_a_class_are_refused() -> None:
    with pytest.raises(InvalidTool, match="hello"):
        tools_of(Desk)


@pytest.mark.parametrize(
    "name",
    [
        *("tenant", "tenant_id", "tenantId", "user", "user_id", "organisation", "org-id", "run_id"),
        *("current_user", "acting_user", "for_user_id", "the_tenant", "company_id", "onBehalfOfUser"),
    ],
)
def test_parameters_that_look_like_context_are_found(name: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {name: {}}}, "customer_id": {}}}
    made = Tool(name="x", description="X.", parameters=schema, handler=lambda given: given)
    assert suspicious_parameters(made.parameters) == [name]


@pytest.mark.parametrize("name", ["username_contains", "forum", "company", "theme", "assigned_users", "organ"])
def test_other_parameters_are_not_suspicious(name: str) -> None:
    schema = {"type": "object", "properties": {name: {}}}
    assert suspicious_parameters(schema) == []


class OpenHTTPTicket:
    """Open a ticket."""

    def __init__(self, title: str = "") -> None:
        self.title = title

    def __call__(self, title: str) -> str:
        return title


@functools.lru_cache
def remembered(n: int) -> int:
    """Remember."""
    return n


def test_what_can_be_called_has_the_name_of_its_class_or_function() -> None:
    for function in (OpenHTTPTicket(), OpenHTTPTicket, functools.partial(OpenHTTPTicket())):
        assert Tool.from_function(function, description="Open.").name == "open_http_ticket"
    made = Tool.from_function(remembered)
    assert (made.name, made.parameters["properties"]) == ("remembered", {"n": {"type": "integer"}})


@pytest.mark.parametrize(("input_type", "arguments"), [(str, {"value": "a"}), (Tree, {"value": 7})])
async def test_a_lambda_of_a_value_and_the_context_is_a_tool(input_type: Any, arguments: dict[str, Any]) -> None:
    made = Tool.from_function(
        lambda value, context: f"{value} of {context.tenant.slug}",
        name="tell",
        description="Tell.",
        input_type=input_type,
    )
    assert "context" not in str(made.parameters)
    for tenant in ("acme", "globex"):
        result = await ToolTester(made, tenant=tenant).call(arguments)
        assert result.content.endswith(f" of {tenant}")


def test_a_lambda_with_more_than_a_value_says_what_there_may_be() -> None:
    with pytest.raises(
        InvalidTool, match="must take the str, beside one for the context, which is annotated ToolContext"
    ):
        Tool.from_function(lambda one, two: one, name="tell", description="Tell.", input_type=str)


async def test_an_input_type_can_be_taken_by_keyword_alone() -> None:
    def take(*, context: ToolContext, given: Given) -> str:
        return f"{given.n} {context.run_id}"

    made = Tool.from_function(take, input_type=Given, description="Take.")
    assert await said(made, {"n": 1}) == "1 r1"


class Given(BaseModel):
    n: int


def test_a_handler_with_keywords_must_accept_all_that_its_schema_allows() -> None:
    schema: Any = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}

    def closed(a: Any) -> str:
        return "taken"

    def opened(a: Any, **others: Any) -> str:
        return f"{a} {others}"

    with pytest.raises(InvalidTool, match="besides its properties"):
        Tool(name="x", description="X.", parameters=schema, handler=closed)
    made = Tool(name="x", description="X.", parameters=schema, handler=opened)
    assert ToolTester(made).run(a=1, b=2).content == "1 {'b': 2}"


def test_names_that_share_a_description_have_it_each() -> None:
    def take(a: int, b: str, c: str) -> None:
        """Take.

        Parameters
        ----------
        a : int
            First.
        b, c : str
            Others.
        """

    properties = Tool.from_function(take).parameters["properties"]
    assert [properties[name]["description"] for name in "abc"] == ["First.", "Others.", "Others."]


def test_types_of_the_function_around_are_found_wherever_a_tool_is_made() -> None:
    class Order(BaseModel):
        number: int

    def cancel(order: Order, context: ToolContext) -> Order:
        """Cancel an order."""
        return order

    class Desk:
        Number = int

        @tool
        def reopen(self, order: Order, by: Number) -> str:
            """Reopen an order."""
            return f"{order.number} by {by}"

    def later() -> list[Tool]:
        return [Tool.from_function(cancel), Tool.from_function(cancel, input_type=Order), *tools_of(Desk())]

    made, single, reopen = later()
    assert made.parameters["$defs"]["Order"]["properties"]["number"]["type"] == "integer"
    assert single.parameters["properties"]["number"]["type"] == "integer"
    assert ToolTester(reopen).run(order={"number": 3}, by=4).content == "3 by 4"


def test_a_type_that_is_given_need_not_be_found_again() -> None:
    def around() -> tuple[Any, Any]:
        class Order(BaseModel):
            number: int

        def cancel(order: Order, context: ToolContext) -> str:
            """Cancel an order."""
            return f"{order.number} {context.tenant.slug}"

        return cancel, Order

    cancel, order = around()
    made = Tool.from_function(cancel, input_type=order)
    assert ToolTester(made).run(number=3).content.startswith("3 ")
    with pytest.raises(InvalidTool, match="'Order' is not defined"):
        Tool.from_function(cancel)


class Encoded(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    data: bytes


def test_the_schema_describes_how_bytes_are_encoded() -> None:
    def take(text: bytes, decoded: Base64Bytes, inner: Encoded) -> Encoded:
        """Take."""
        return inner

    made = Tool.from_function(take, localns=globals())
    properties = made.parameters["properties"]
    assert properties["text"] == {"type": "string"}
    assert properties["decoded"]["format"] == "base64"
    assert made.parameters["$defs"]["Encoded"]["properties"]["data"]["format"] == "base64"
    assert made.output_schema is not None
    assert made.output_schema["properties"]["data"]["format"] == "base64"
    taken = made.check({"text": "aGk=", "decoded": "aGk=", "inner": {"data": "aGk="}})
    assert taken == {"text": b"aGk=", "decoded": b"hi", "inner": Encoded(data=b"hi")}
    assert ToolTester(made).run(text="", decoded="", inner={"data": "aGk="}).content == '{"data":"aGk="}'


def test_a_tool_can_be_kept_in_sets_and_looked_at() -> None:
    made = tool(google)
    assert made in {made}
    assert len(repr(made)) < 1500


def test_schemas_are_built_once() -> None:
    made = tool(google)
    assert made.strict_parameters() is made.strict_parameters()
