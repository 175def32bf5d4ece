"""Database rows as results: read in the tool's thread, capped, and never another tenant's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.models import Assistant, Provider, Tenant
from tests.base import Cast
from tools import ForeignRow, TenantInfo, Tool, ToolContext
from tools.plain import MAX_ITEMS
from tools.results import convert

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
async def test_querysets_wherever_they_stand_are_read_off_the_loop_and_cut(wrap: Any) -> None:
    await User.objects.abulk_create(User(username=f"u{n:03}") for n in range(MAX_ITEMS + 5))
    users = User.objects.order_by("username")
    items = await read(wrap(lambda: users.values("username")))
    assert items[0] == {"username": "u000"}
    assert len(items) == MAX_ITEMS + 1
    assert "Cut here" in items[-1]
    nested = await read(wrap(lambda: {"users": users.values_list("username", flat=True)[:2]}))
    assert nested == {"users": ["u000", "u001"]}


async def test_a_row_shows_no_password_and_asks_for_nothing_more() -> None:
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


async def test_another_tenants_row_is_stopped_before_the_model_reads_it(cast: Cast) -> None:
    ours = ToolContext(tenant=TenantInfo(id=cast.acme.pk, slug="acme"))
    theirs = await Assistant.objects.filter(tenant=cast.globex).afirst()
    assert theirs is not None
    for value in (theirs, [theirs], {"a": [theirs]}, Assistant.objects.filter(tenant=cast.globex)):
        for options in ({}, {"result_converter": str}):
            with pytest.raises(ForeignRow):
                await made_of(lambda value=value: value, parameters={"type": "object"}, **options).call("", ours)
    own = await read(lambda: Assistant.objects.filter(tenant=cast.acme), ours)
    assert {row["tenant_id"] for row in own} == {cast.acme.pk}
