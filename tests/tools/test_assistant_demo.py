"""The demo's data: two tenants with the same numbers; loading it again changes nothing."""

from __future__ import annotations

import pytest

from assistant.models.knowledge import Document, Passage
from tests.base import Cast
from tools.assistant_demo import load_demo
from tools.models import Customer, Order, OrderLine


def test_loading_twice_changes_nothing(cast: Cast) -> None:
    load_demo(cast.acme, cast.globex)
    models = (Customer, Order, OrderLine, Document, Passage)
    before = [model.objects.count() for model in models]
    Customer.objects.filter(tenant=cast.acme, number=42).update(city="Changed by hand")
    load_demo(cast.acme, cast.globex)
    assert [model.objects.count() for model in models] == before
    assert Customer.objects.get(tenant=cast.acme, number=42).city == "Changed by hand"


@pytest.mark.usefixtures("demo")
def test_both_tenants_have_the_same_numbers_for_different_people(cast: Cast) -> None:
    ours = dict(Customer.objects.filter(tenant=cast.acme).values_list("number", "email"))
    theirs = dict(Customer.objects.filter(tenant=cast.globex).values_list("number", "email"))
    assert len(ours) == 25
    assert ours.keys() == theirs.keys()
    assert not set(ours.values()) & set(theirs.values())


@pytest.mark.usefixtures("demo")
def test_every_row_is_complete_and_belongs_to_one_tenant() -> None:
    for order in Order.objects.select_related("customer").prefetch_related("lines"):
        order.full_clean()
        assert order.tenant_id == order.customer.tenant_id
        assert {line.tenant_id for line in order.lines.all()} == {order.tenant_id}
        assert sum(line.quantity * line.unit_price for line in order.lines.all()) == order.total
    for customer in Customer.objects.all():
        customer.full_clean()


@pytest.mark.usefixtures("demo")
def test_deleting_a_tenant_deletes_its_rows(cast: Cast) -> None:
    cast.globex.delete()
    for model in (Customer, Order, OrderLine, Document, Passage):
        assert set(model.objects.values_list("tenant_id", flat=True)) == {cast.acme.pk}
