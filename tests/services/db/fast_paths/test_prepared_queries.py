"""Prepared queries find what the queryset itself finds, for any values, and never another tenant's rows."""

from __future__ import annotations

import gc
import threading
import uuid
import weakref
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.test.utils import CaptureQueriesContext

from assistant.models import Assistant, Conversation, Tenant, ToolSetting
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery
from assistant.services.tenancy.row_scope import all_tenants
from tests.base import Cast
from tests.factories import make_conversation, switch_tool


def of_tenant(*, tenant_id: int, slug: str) -> QuerySet[Assistant]:
    return Assistant.objects.filter(tenant_id=tenant_id, slug=slug).select_related("tenant")


def test_finds_whole_rows_and_joined_rows(cast: Cast) -> None:
    prepared = PreparedQuery(of_tenant, tenant_id=int, slug=str)
    for assistant in (cast.support, cast.rival_support):
        name = assistant.tenant.name
        with CaptureQueriesContext(connection) as queries:
            found = prepared.first(tenant_id=assistant.tenant_id, slug=assistant.slug)
            assert found == assistant
            assert found is not None and found.tenant.name == name
        assert len(queries) == 1, [query["sql"][:3000] for query in queries]
    assert prepared.rows(tenant_id=cast.acme.pk, slug="nobody") == []


def test_each_call_uses_its_own_values(cast: Cast) -> None:
    prepared = PreparedQuery(of_tenant, tenant_id=int, slug=str)
    prepared.first(tenant_id=cast.acme.pk, slug="support")
    found = prepared.first(tenant_id=cast.globex.pk, slug="support")
    assert found is not None and found.tenant == cast.globex


def test_values_are_converted_as_by_a_queryset(cast: Cast) -> None:
    switch_tool(cast.acme, "calculate", "ask")
    ToolSetting.objects.update(config={"deep": [1, None]}, secrets='{"key": "s3cret"}')
    talk = make_conversation(cast.alice, cast.support)

    def build(*, thread: uuid.UUID, tenant_id: int) -> QuerySet[ToolSetting, tuple[object, ...]]:
        talks = Conversation.objects.filter(pk=thread, tenant=OuterRef("tenant"))
        rows = ToolSetting.objects.filter(tenant_id=tenant_id).annotate(is_there=Exists(talks))
        return rows.values_list("tool", "config", "secrets", "is_there", "updated_at")

    prepared = PreparedQuery(build, thread=uuid.UUID, tenant_id=int)
    for thread in (talk.pk, uuid.uuid4()):
        expected = list(build(thread=thread, tenant_id=cast.acme.pk))
        assert prepared.rows(thread=thread, tenant_id=cast.acme.pk) == expected
        assert expected[0][1:4] == ({"deep": [1, None]}, '{"key": "s3cret"}', thread == talk.pk)


def test_constants_have_the_effect_that_they_have_in_a_queryset(cast: Cast) -> None:
    odd = 'It\'s 100 %s of \\ "x"'
    Assistant.objects.filter(pk=cast.support.pk).update(name=odd, max_rounds=7)

    def build(*, tenant_id: int) -> QuerySet[Assistant, tuple[object, ...]]:
        rows = Assistant.objects.filter(tenant_id=tenant_id, is_active=True, max_rounds=7, temperature=None, name=odd)
        return rows.values_list("slug", Value("word"), Value(odd), Value(2.5), Value(True), Value(-3))

    expected = list(build(tenant_id=cast.acme.pk))
    assert expected == [("support", "word", odd, 2.5, True, -3)]
    assert PreparedQuery(build, tenant_id=int).rows(tenant_id=cast.acme.pk) == expected


@pytest.mark.django_db(transaction=True)
def test_a_query_keeps_no_reference_to_a_connection(cast: Cast) -> None:
    """Under ASGI each request of a synchronous view has a thread and a connection of its own."""
    prepared = PreparedQuery(of_tenant, tenant_id=int, slug=str)
    seen: list[weakref.ref[Any]] = []

    def ask() -> None:
        assert prepared.first(tenant_id=cast.acme.pk, slug="support") == cast.support
        seen.append(weakref.ref(connections[DEFAULT_DB_ALIAS]))
        connections.close_all()

    assert prepared.first(tenant_id=cast.acme.pk, slug="nobody") is None  # its SQL is compiled here
    thread = threading.Thread(target=all_tenants()(ask))
    thread.start()
    thread.join()
    gc.collect()
    assert [connection() for connection in seen] == [None]


def test_an_unused_parameter_is_an_error(cast: Cast) -> None:
    prepared = PreparedQuery(lambda tenant_id, extra: Tenant.objects.filter(pk=tenant_id), tenant_id=int, extra=str)
    with pytest.raises(ValueError, match="extra"):
        prepared.rows(tenant_id=cast.acme.pk, extra="x")
