"""The tools for orders: search and reading, separately for each tenant."""

from __future__ import annotations

import pytest

from assistant.toolkit import ToolContext, ToolError
from tests.library.calling import call
from tools.models import Customer, Order
from tools.orders import find_orders, get_order

pytestmark = pytest.mark.usefixtures("demo")


def test_an_order_is_read_with_its_lines(at_acme: ToolContext) -> None:
    order = call(get_order, at_acme, number=1006)
    assert (order["customer"], order["total"], order["currency"]) == ("Lena Hofbauer", "407.90", "EUR")
    assert order["lines"] == [
        {"product": "Glacier crampons", "quantity": 2, "unit_price": "159.00"},
        {"product": "Titanium cook set", "quantity": 1, "unit_price": "89.90"},
    ]


def test_one_number_names_different_orders_in_two_tenants(at_acme: ToolContext, at_globex: ToolContext) -> None:
    assert call(get_order, at_globex, number=1006)["customer"] == "Raymond Okafor"
    Order.objects.filter(tenant_id=at_globex.tenant.id, number=1006).delete()
    with pytest.raises(ToolError, match=r"There is no order 1006\."):
        call(get_order, at_globex, number=1006)
    assert call(get_order, at_acme, number=1006)["customer"] == "Lena Hofbauer"


def test_orders_are_found_by_customer_the_newest_first(at_acme: ToolContext, at_globex: ToolContext) -> None:
    numbers = [order["number"] for order in call(find_orders, at_acme, customer_id=42)["orders"]]
    assert numbers == [1045, 1034, 1030, 1018, 1006]
    assert call(find_orders, at_globex, customer_id=42)["total_found"] == 4


def test_orders_are_found_by_status(at_acme: ToolContext) -> None:
    found = call(find_orders, at_acme, status="open", limit=50)
    assert {order["status"] for order in found["orders"]} == {"open"}
    stored = Order.objects.filter(tenant_id=at_acme.tenant.id, status="open").count()
    assert found["total_found"] == len(found["orders"]) == stored


def test_a_cut_list_says_how_many_there_are(at_acme: ToolContext) -> None:
    found = call(find_orders, at_acme, limit=3)
    assert (len(found["orders"]), found["total_found"]) == (3, 48)


def test_every_order_listed_is_the_tenants_own(at_acme: ToolContext, at_globex: ToolContext) -> None:
    assert {order["currency"] for order in call(find_orders, at_acme, limit=50)["orders"]} == {"EUR"}
    assert {order["currency"] for order in call(find_orders, at_globex, limit=50)["orders"]} == {"USD"}


@pytest.mark.parametrize("number", [4242, 10**15])
def test_an_unknown_customer_is_an_error_to_the_model(at_acme: ToolContext, number: int) -> None:
    with pytest.raises(ToolError, match=f"There is no customer {number}."):
        call(find_orders, at_acme, customer_id=number)


def test_another_tenants_customer_is_not_known_at_all(at_acme: ToolContext, at_globex: ToolContext) -> None:
    Customer.objects.filter(tenant_id=at_acme.tenant.id, number=11).update(number=911)
    with pytest.raises(ToolError, match=r"There is no customer 911\."):
        call(find_orders, at_globex, customer_id=911)
