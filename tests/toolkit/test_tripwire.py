"""Database rows in results: read in the tool's thread, limited in number, and never of another tenant."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic import BaseModel, ConfigDict, field_serializer

from assistant.models import Assistant, Conversation, Message, PromptVersion, Provider, Tenant
from assistant.toolkit import ForeignRow, TenantInfo, Tool, ToolContext, ToolResult
from assistant.toolkit.calls.call import convert, register_converter, result_of
from assistant.toolkit.calls.json_values import MAX_ITEMS, _converters
from assistant.toolkit.context import use_context
from tests.base import Cast

pytestmark = pytest.mark.django_db(transaction=True)


def made_of(function: Any, **options: Any) -> Tool:
    return Tool.from_function(function, name="rows", description="Read rows.", **options)


async def read(function: Any, context: ToolContext | None = None, **options: Any) -> Any:
    return json.loads((await made_of(function, **options).call("", context or ToolContext())).content)


def in_async(value: Any) -> Any:
    async def function() -> Any:
        return value()

    return function


@pytest.mark.parametrize("wrap", [lambda value: value, in_async], ids=["sync", "async"])
async def test_querysets_at_any_depth_are_read_off_the_loop_and_cut(wrap: Any) -> None:
    await User.objects.abulk_create(User(username=f"u{n:03}") for n in range(MAX_ITEMS + 5))
    users = User.objects.order_by("username")
    items = await read(wrap(lambda: users.values("username")))
    assert items[0] == {"username": "u000"}
    assert len(items) == MAX_ITEMS + 1
    assert "Cut here" in items[-1]
    nested = await read(wrap(lambda: {"users": users.values_list("username", flat=True)[:2]}))
    assert nested == {"users": ["u000", "u001"]}


async def test_a_row_shows_no_password_and_needs_no_further_query() -> None:
    await User.objects.acreate(username="ada", password="hashed")
    [row] = await read(lambda: User.objects.only("username"))
    assert row == {"id": row["id"], "username": "ada"}
    [row] = await read(lambda: User.objects)
    assert "password" not in row
    assert row["is_active"] is True


def test_columns_that_were_not_loaded_cost_no_queries() -> None:
    User.objects.create(username="ada")
    with CaptureQueriesContext(connection) as queries:
        convert(User.objects.only("username"))
    assert len(queries) == 1


def test_an_encrypted_column_is_left_out() -> None:
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    assert "sk-secret" not in convert(
        Provider(tenant=tenant, name="x", base_url="http://a.example", api_key="sk-secret")
    )


@dataclasses.dataclass
class Holder:
    inner: Any


class Boxed(BaseModel):
    """A model whose serializer turns a row into text."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inner: Any

    @field_serializer("inner")
    def as_text(self, value: Any) -> str:
        return str(value)


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda row: row,
    "a list": lambda row: ["a", (1, row)],
    "a set": lambda row: {row},
    "a value": lambda row: {"a": {"b": row}},
    "a key": lambda row: {row: 1},
    "a dataclass": lambda row: Holder([Holder(row)]),
    "a pydantic model": lambda row: [Boxed(inner={"x": row})],
    "a queryset": lambda row: type(row)._default_manager.filter(pk=row.pk),
    "a queryset within": lambda row: Holder({"rows": type(row)._default_manager.filter(pk=row.pk)}),
    "a row with its tenant left out": lambda row: type(row)._default_manager.filter(pk=row.pk).only("slug"),
    "a generator": lambda row: (one for one in [row]),
    "a generator within": lambda row: {"rows": (one for one in [row])},
    "content": lambda row: ToolResult(content=row),
    "display": lambda row: ToolResult("ok", display={"cards": [Holder(row)]}),
    "a queryset to display": lambda row: ToolResult("ok", display=type(row)._default_manager.filter(pk=row.pk)),
    "media": lambda row: ToolResult("ok", media=(row,)),
    "the value": lambda row: ToolResult("ok", value=Holder(row)),
}


@pytest.mark.parametrize("options", [{}, {"result_converter": str}], ids=["plain", "converter"])
@pytest.mark.parametrize("wrap", [lambda value: value, in_async], ids=["sync", "async"])
async def test_another_tenants_row_is_stopped_at_any_depth(cast: Cast, wrap: Any, options: dict[str, Any]) -> None:
    context = ToolContext(tenant=TenantInfo(id=cast.acme.pk, slug="acme"))

    async def call(holder: str, row: Any) -> ToolResult:
        tool = made_of(wrap(lambda: HOLDERS[holder](row)), parameters={"type": "object"}, **options)
        return await tool.call("", context)

    for model in (Tenant, Assistant):
        ours, theirs = await _row(model, cast.acme), await _row(model, cast.globex)
        for holder in HOLDERS:
            if options and holder.startswith("a generator"):
                continue  # as a text it shows nothing of what it holds
            with pytest.raises(ForeignRow):
                pytest.fail(f"{holder}: {await call(holder, theirs)}")
            if holder != "media":  # which no row is
                assert (await call(holder, ours)).content


async def test_the_rows_of_a_generator_are_checked_while_it_is_converted(cast: Cast) -> None:
    ours = ToolContext(tenant=TenantInfo(id=cast.acme.pk, slug="acme"))

    def rows(*tenants: Tenant) -> Any:
        return lambda: (tenant for tenant in tenants)

    slugs: Any = {"result_converter": lambda tenants: [tenant.slug for tenant in tenants]}
    assert await read(rows(cast.acme), ours, **slugs) == ["acme"]
    with pytest.raises(ForeignRow):
        await read(rows(cast.acme, cast.globex), ours, **slugs)


async def _row(model: Any, tenant: Tenant) -> Any:
    return tenant if model is Tenant else await model._default_manager.filter(tenant=tenant).afirst()


def test_a_converter_of_rows_is_not_called_before_their_tenant_is_checked(cast: Cast) -> None:
    register_converter(lambda value: isinstance(value, Assistant), lambda row: row.name)
    try:
        with use_context(ToolContext(tenant=TenantInfo(id=cast.acme.pk))):
            assert convert([cast.support]) == '["Support"]'
            with pytest.raises(ForeignRow):
                convert([cast.rival_support])
    finally:
        _converters.pop(0)


class Wrapper:
    """A class of a tool's author."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner


@pytest.mark.parametrize(
    ("hold", "read_back"),
    [
        (lambda row: Wrapper([Slotted(row)]), lambda held: held.inner[0].inner.slug),
        (lambda row: {"a": Holder(Wrapper(row))}, lambda held: held["a"].inner.inner.slug),
        (lambda row: [(one for one in [row])], lambda held: [[one.slug for one in items] for items in held]),
        (lambda row: {"a": [{"b": row} for row in [row]].__iter__()}, lambda held: next(held["a"])["b"].slug),
        (lambda row: {1: row}.values(), lambda held: next(iter(held)).slug),
    ],
)
async def test_a_converter_gets_no_foreign_row_in_objects_or_iterators(cast: Cast, hold: Any, read_back: Any) -> None:
    ours: Any = ToolContext(tenant=TenantInfo(id=cast.acme.pk))
    assert await made_of(lambda: hold(cast.acme), result_converter=read_back).call("", ours)
    with pytest.raises(ForeignRow):
        await made_of(lambda: hold(cast.globex), result_converter=read_back).call("", ours)


def test_querysets_in_attributes_of_an_object_are_not_evaluated(cast: Cast) -> None:
    with CaptureQueriesContext(connection) as queries, use_context(ToolContext(tenant=TenantInfo(id=cast.acme.pk))):
        result_of(Wrapper([Wrapper(Tenant.objects.all()), Wrapper(Tenant.objects)]), lambda held: "ok")
    assert len(queries) == 0


@pytest.fixture
def versions(cast: Cast) -> dict[str, list[PromptVersion]]:
    """Rows whose tenant is only reachable by a foreign key."""
    return {
        "ours": [PromptVersion.objects.create(assistant=cast.support, number=n, text="a") for n in range(50, 70)],
        "theirs": [PromptVersion.objects.create(assistant=cast.rival_support, number=n, text="b") for n in (50, 51)],
    }


@pytest.mark.parametrize("options", [{}, {"result_converter": lambda rows: [row.text for row in rows]}])
@pytest.mark.parametrize(
    "rows",
    [PromptVersion.objects, PromptVersion.objects.select_related("assistant"), PromptVersion.objects.only("text")],
)
async def test_a_foreign_key_to_a_row_of_another_tenant_is_found(
    cast: Cast, versions: Any, rows: Any, options: Any
) -> None:
    ours = ToolContext(tenant=TenantInfo(id=cast.acme.pk))
    for wrap in (lambda value: value, in_async):
        mine = wrap(lambda: rows.filter(assistant=cast.support))
        assert (await made_of(mine, **options).call("", ours)).content
        with pytest.raises(ForeignRow, match="PromptVersion"):
            await made_of(wrap(lambda: rows.order_by("pk")), **options).call("", ours)


def test_rows_of_one_model_take_one_query_and_none_if_related_rows_are_loaded(cast: Cast, versions: Any) -> None:
    mine = PromptVersion.objects.filter(assistant=cast.support)
    notes = [
        Message(conversation_id=pk)
        for pk in (
            Conversation.objects.create(tenant=cast.acme, user=cast.alice, assistant=cast.support).pk for _ in range(3)
        )
    ]
    with use_context(ToolContext(tenant=TenantInfo(id=cast.acme.pk))):
        for rows, most in (
            (list(mine), 1),
            (list(mine.only("text")), 1),
            (list(mine.select_related("assistant")), 0),
            (notes, 1),
            ([*mine, *notes], 2),
            (list(Assistant.objects.filter(tenant=cast.acme).only("slug")), 1),
        ):
            with CaptureQueriesContext(connection) as queries:
                result_of(ToolResult(content=rows, display=rows, value=rows))  # type: ignore[arg-type]
            assert len(queries) == most


def test_any_column_that_refers_to_a_tenant_is_checked(cast: Cast) -> None:
    """The column can have any name."""
    column = SimpleNamespace(attname="shop_id", related_model=Tenant, target_field=Tenant._meta.pk)
    row = SimpleNamespace(pk=1, shop_id=cast.globex.pk, _meta=SimpleNamespace(concrete_fields=[column]))
    with use_context(ToolContext(tenant=TenantInfo(id=cast.acme.pk))), pytest.raises(ForeignRow):
        convert({"row": row})
