"""Tools of a Django project as people write them, with what the model reads of their results."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional

from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Count, Sum, Value
from django.http import Http404, HttpResponse, JsonResponse, QueryDict
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from assistant.models import Tenant
from assistant.toolkit import Param, Tool, ToolContext, ToolError, ToolResult

FAILED = "failed"


@dataclasses.dataclass(frozen=True)
class ToolCase:
    """One tool, what it is called with, and a part of what the model reads.

    Attributes:
        is_told: whether the model is told of an error.
    """

    name: str
    tool: Tool
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    reads: str = ""
    is_told: bool = False


CASES: list[ToolCase] = []


def case(title: str, reads: str = "", /, *, is_told: bool = False, **arguments: Any) -> Callable[[Any], Tool]:
    def add(function: Any) -> Tool:
        made = Tool.from_function(function)
        CASES.append(ToolCase(title, made, arguments, reads, is_told))
        return made

    return add


class Colour(enum.Enum):
    RED = "red"


class Size(models.TextChoices):
    SMALL = "s", gettext_lazy("Small")


class Point(NamedTuple):
    x: int
    y: int


class Place(TypedDict, total=False):
    city: str
    zip: int


@dataclasses.dataclass
class Address:
    street: str
    since: datetime.date
    tags: list[str] = dataclasses.field(default_factory=list)


class Order(BaseModel):
    number: int
    price: decimal.Decimal = decimal.Decimal("1.50")
    lines: list[str] = Field(default_factory=list)


class Odd:
    pass


# Results


@case("A queryset", '"username":"alice"')
def users() -> Any:
    """List the users."""
    return User.objects.filter(username="alice")


@case("A queryset with annotations", '"how_many":0')
def annotated() -> Any:
    """List the users."""
    return User.objects.filter(username="alice").annotate(how_many=Count("groups"))


@case("`values()`", '[{"username":"alice"}]')
def values() -> Any:
    """List the users."""
    return User.objects.filter(username="alice").values("username")


@case("`values_list()` with named rows", '{"username":"alice"}')
def named_rows() -> Any:
    """List the users."""
    return User.objects.filter(username="alice").values_list("username", named=True)


@case("`values_list(flat=True)`", '["alice"]')
def flat() -> Any:
    """List the users."""
    return User.objects.filter(username="alice").values_list("username", flat=True)


@case("`union()`", '"username":"alice"')
def union() -> Any:
    """List the users."""
    alice = User.objects.filter(username="alice")
    return alice.union(alice)


@case("A sliced queryset", '"username":')
def sliced() -> Any:
    """List the users."""
    return User.objects.order_by("pk")[:1]


@case("`raw()`", '"username":"alice"')
def raw() -> Any:
    """List the users."""
    return User.objects.raw("SELECT * FROM auth_user WHERE username = 'alice'")


@case("`aggregate()`", '{"n":')
def aggregate() -> Any:
    """Count the users."""
    return User.objects.aggregate(n=Count("pk"), total=Sum(Value(1.5)))


@case("`iterator()`", '"username":"alice"')
def iterated() -> Any:
    """List the users."""
    return User.objects.filter(username="alice").iterator()


@case("`in_bulk()`", '"username":"alice"')
def in_bulk() -> Any:
    """List the users."""
    return User.objects.filter(username="alice").in_bulk()


@case("`none()`", "[]")
def nothing() -> Any:
    """List nobody."""
    return User.objects.none()


@case("`first()` without a row", "Done")
def first() -> Any:
    """Find nobody."""
    return User.objects.filter(username="nobody").first()


@case("A page of a paginator", '"username":')
def page() -> Any:
    """List the users."""
    return Paginator(User.objects.order_by("pk"), 2).page(1)


@case("A queryset of an asynchronous tool", '"username":"alice"')
async def async_users() -> Any:
    """List the users."""
    return User.objects.filter(username="alice")


@case("`aget()`", '"username":"alice"')
async def aget() -> Any:
    """Find a user."""
    return await User.objects.aget(username="alice")


@case("Rows of an asynchronous generator", '"alice"')
async def async_rows() -> AsyncIterator[str]:
    """List the users."""
    async for user in User.objects.filter(username="alice"):
        yield user.username


@case("An asynchronous comprehension", '["alice"]')
async def async_list() -> list[str]:
    """List the users."""
    return [user.username async for user in User.objects.filter(username="alice")]


@case("A generator", "[0,1,2]")
def generator() -> Iterator[int]:
    """Count."""
    yield from range(3)


@case("A generator that fails in the middle", FAILED, is_told=True)
def failing_generator() -> Iterator[int]:
    """Count."""
    yield 1
    raise RuntimeError("no more")


@case("A generator without an end", "Cut here")
def endless() -> Iterator[int]:
    """Count."""
    while True:
        yield 1


@case("A huge result", "Cut here")
def huge() -> Any:
    """List much."""
    return ["x" * 100] * 10_000


@case("A huge text", "Cut here")
def huge_text() -> str:
    """Say much."""
    return "word " * 100_000


@case("Decimal, NaN and infinity", '{"d":"1.10","n":null,"i":null,"dn":"NaN"}')
def numbers() -> Any:
    """Give numbers."""
    return {"d": decimal.Decimal("1.10"), "n": float("nan"), "i": float("inf"), "dn": decimal.Decimal("NaN")}


@case("A number with thousands of digits", "cannot be shown", is_told=True)
def long_number() -> Any:
    """Give a number."""
    return {"n": 10**6_000}


@case("A fraction and a complex number", "1/3")
def odd_numbers() -> Any:
    """Give numbers."""
    return [fractions.Fraction(1, 3), complex(1, 2)]


@case("Dates and spans", '"2026-01-02T03:04:05+00:00"')
def dates() -> Any:
    """Give dates."""
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    return [moment, moment.date(), moment.time(), datetime.timedelta(days=2)]


@case("UUID, path and address", "10.0.0.1")
def identifiers() -> Any:
    """Give identifiers."""
    return [uuid.UUID(int=1), Path("a/b"), ipaddress.ip_address("10.0.0.1")]


@case("Enumerations and choices", '["red","s"]')
def enumerations() -> Any:
    """Give a colour."""
    return [Colour.RED, Size.SMALL]


@case("A choice alone", "s")
def choice_alone() -> Any:
    """Give a size."""
    return Size.SMALL


@case("A label of a choice", "Small")
def label() -> Any:
    """Give a size."""
    return {"label": Size.SMALL.label}


@case("A lazy text alone", "Small")
def lazy_text() -> Any:
    """Give a size."""
    return gettext_lazy("Small")


@case("A lazy object", '"username":"alice"')
def lazy_object() -> Any:
    """Find a user."""
    return SimpleLazyObject(lambda: User.objects.get(username="alice"))


@case("Safe HTML", "<b>Hi</b>")
def safe_html() -> Any:
    """Greet."""
    return mark_safe("<b>Hi</b>")


@case("Named tuples and data classes", '{"x":1,"y":2}')
def structures() -> Any:
    """Give structures."""
    return [Point(1, 2), Address("Main St", datetime.date(2026, 1, 1))]


@case("A pydantic model", '{"number":7,"price":"1.50","lines":[]}')
def order() -> Any:
    """Give an order."""
    return Order(number=7)


@case("Sets, counters, ordered and default dictionaries", '{"a":2}')
def collections_of() -> Any:
    """Give collections."""
    found = collections.defaultdict(list)
    found["k"].append(1)
    return [{3, 1}, collections.Counter("aa"), collections.OrderedDict(z=1), found, collections.deque([1]), range(2)]


@case("Keys that are no text", '{"1":"a","None":"b"}')
def keys() -> Any:
    """Give keys."""
    return {1: "a", None: "b"}


@case("A tuple as a key", '"(1, 2)"')
def tuple_keys() -> Any:
    """Give keys."""
    return {(1, 2): "a"}


@case("A `QueryDict`", '"a":')
def query_dict() -> Any:
    """Give a query."""
    return QueryDict("a=1&a=2")


@case("A `JsonResponse`", "cannot be shown", is_told=True)
def json_response() -> Any:
    """Answer as a view does."""
    return JsonResponse({"status": "ok"})


@case("An `HttpResponse`", "cannot be shown", is_told=True)
def http_response() -> Any:
    """Answer as a view does."""
    return HttpResponse("Hello")


@case("An object that is no value", "cannot be shown", is_told=True)
def odd_object() -> Any:
    """Give an object."""
    return Odd()


@case("A value that contains itself", "cannot be shown", is_told=True)
def cyclic() -> Any:
    """Give a list."""
    found: list[Any] = []
    found.append(found)
    return found


@case("Bytes without a type", "media type", is_told=True)
def plain_bytes() -> Any:
    """Give bytes."""
    return b"\x00\x01"


@case("Nothing", "Done")
def nothing_returned() -> None:
    """Do something."""


@case("An empty text", "")
def empty_text() -> str:
    """Say nothing."""
    return ""


@case("False and zero", "[false,0]")
def falsy() -> Any:
    """Give values."""
    return [False, 0]


@case("NUL and half characters in a text", "a\ufffdb\ufffd")
def odd_text() -> str:
    """Say something odd."""
    return "a\0b\ud800"


@case("A result object", "short")
def result_object() -> Any:
    """Show something else."""
    return ToolResult("short", display={"long": True})


@case("A class instead of an object", "cannot be shown", is_told=True)
def a_class() -> Any:
    """Give a class."""
    return Order


@case("A function that was not called", "cannot be shown", is_told=True)
def a_function() -> Any:
    """Give a function."""
    return case


@case("A coroutine that a synchronous tool returns", "later")
def coroutine() -> Any:
    """Say it later."""

    async def later() -> str:
        return "later"

    return later()


# Exceptions


@case("`DoesNotExist`", FAILED, is_told=True)
def does_not_exist() -> Any:
    """Find nobody."""
    return User.objects.get(username="nobody")


@case("`MultipleObjectsReturned`", FAILED, is_told=True)
def multiple() -> Any:
    """Find one."""
    return User.objects.get()


@case("`ObjectDoesNotExist` in an asynchronous tool", FAILED, is_told=True)
async def async_missing() -> Any:
    """Find nobody."""
    raise ObjectDoesNotExist("secret")


@case("`IntegrityError`", FAILED, is_told=True)
def integrity() -> Any:
    """Add a user."""
    User.objects.create(username="alice")


@case("`IntegrityError` that was caught", "caught")
def caught() -> Any:
    """Add a user."""
    try:
        with transaction.atomic():
            User.objects.create(username="alice")
    except IntegrityError:
        return f"caught, {User.objects.filter(username='alice').count()} left"
    return "added"


@case("`ValidationError` of Django", FAILED, is_told=True)
def validation() -> Any:
    """Check something."""
    raise ValidationError({"name": ["secret"]})


@case("`PermissionDenied`", FAILED, is_told=True)
def denied() -> Any:
    """Do something forbidden."""
    raise PermissionDenied("secret")


@case("`Http404`", FAILED, is_told=True)
def not_found() -> Any:
    """Look for something."""
    raise Http404("secret")


@case("`ToolError`", "No such customer", is_told=True)
def tool_error() -> Any:
    """Look for a customer."""
    raise ToolError("No such customer")


@case("`ToolError` from another exception", "No such user", is_told=True)
def chained() -> Any:
    """Look for a user."""
    try:
        return User.objects.get(username="nobody")
    except User.DoesNotExist as exc:
        raise ToolError("No such user") from exc


@case("A returned exception", FAILED, is_told=True)
def returned_exception() -> Any:
    """Give an exception."""
    return ValueError("secret")


@case("`SystemExit`", FAILED, is_told=True)
def leaving() -> Any:
    """Leave."""
    raise SystemExit(1)


@case("`StopIteration`", FAILED, is_told=True)
def stop_iteration() -> Any:
    """Stop."""
    raise StopIteration


@case("`RecursionError`", FAILED, is_told=True)
def recursion() -> Any:
    """Call itself."""

    def again() -> Any:
        return again()

    return again()


@case("`AssertionError` without a text", FAILED, is_told=True)
def assertion() -> Any:
    """Assert."""
    raise AssertionError


@case("A broken query", FAILED, is_told=True)
def broken_query() -> Any:
    """Ask the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")


@case("A transaction that was left open", "open")
def left_open() -> Any:
    """Begin a transaction."""
    transaction.set_autocommit(False)
    return "open"


@case("A query after that", '"username":"alice"')
def after_left_open() -> Any:
    """List the users."""
    return User.objects.filter(username="alice")


# Parameters


@case("Optional, literal and union parameters", '["a","x",null,5]', name="a", kind="x", number="5")
def parameters(name: str, kind: Literal["x", "y"], note: Optional[str] = None, number: int | None = None) -> Any:  # noqa: UP045
    """Take parameters."""
    return [name, kind, note, number]


@case("Date, UUID and decimal parameters", "2026-01-02", day="2026-01-02", key=str(uuid.UUID(int=1)), price="1.10")
def typed(day: datetime.date, key: uuid.UUID, price: decimal.Decimal) -> Any:
    """Take parameters."""
    assert isinstance(day, datetime.date) and isinstance(key, uuid.UUID) and isinstance(price, decimal.Decimal)
    return [day, key, price]


@case("Enumerations as parameters", '["red","s"]', colour="red", size="s")
def enumerated(colour: Colour, size: Size) -> Any:
    """Take parameters."""
    assert colour is Colour.RED
    return [colour, size]


@case(
    "A data class, a typed dictionary and a model as parameters",
    "Main St",
    address={"street": "Main St", "since": "2026-01-01"},
    place={"city": "Oslo"},
    order={"number": "7"},
)
def structured(address: Address, place: Place, order: Order) -> Any:
    """Take parameters."""
    assert isinstance(address, Address) and isinstance(order, Order)
    return [address, place, order]


@case("An annotated parameter with bounds", "less than or equal to 100", is_told=True, number=200)
def bounded(number: Annotated[int, Param("A number", le=100)]) -> Any:
    """Take a number."""
    return number


@case("A default that a factory makes", '["x"]')
def default_factory(order: Order = Order(number=1, lines=["x"])) -> Any:  # noqa: B008
    """Take an order."""
    return order.lines


@case("Parameters by keyword only", "[1,2]", first=1, second=2)
def by_keyword(first: int, *, second: int) -> Any:
    """Take two numbers."""
    return [first, second]


@case("An argument that is unknown", "unknown", is_told=True, username="alice", tenant_id=7)
def strict(username: str) -> Any:
    """Take a name."""
    return username


@case("A number as text and a flag as text", "[5,true]", number="5", flag="true")
def coerced(number: int, flag: bool) -> Any:
    """Take values."""
    return [number, flag]


@case("A list where one item is given", "", is_told=True, names="alice")
def listed(names: list[str]) -> Any:
    """Take names."""
    return names


@case("Missing arguments", "name", is_told=True)
def missing(name: str) -> Any:
    """Take a name."""
    return name


@case("A parameter named like a keyword of Python's", '"x"', type="x", input="y")
def shadowing(type: str, input: str) -> Any:  # noqa: A002
    """Take values."""
    return [type, input]


@case("A context at any position", "One", note="n")
def with_context(context: ToolContext, note: str) -> Any:
    """Look at the conversation."""
    return next(message.content for message in context.history if message.role == "user")


@case("A tool that prints and sleeps", "slept")
def sleeps() -> Any:
    """Sleep."""
    time.sleep(0.01)
    return "slept"


@case("JSON that is text already", '{"a": 1}')
def json_text() -> Any:
    """Give JSON."""
    return json.dumps({"a": 1})


@case("A row of the tenants", '"slug":')
def tenants() -> Any:
    """List the tenants."""
    return Tenant.objects.order_by("pk").values("slug")[:1]
