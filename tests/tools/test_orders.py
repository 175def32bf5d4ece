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


def test_what_is_found_is_counted_and_added_up_by_the_tool_whatever_the_limit(at_acme: ToolContext) -> None:
    found = call(find_orders, at_acme, status="open", limit=1)
    assert found["sums"] == [{"amount": "5437.80", "currency": "EUR"}]
    assert found["summary"].startswith("8 open orders, 5,437.80 EUR together: 1041 of Isabella Rossi and others.")
    assert (
        "5 orders of customer 42, Lena Hofbauer, 1,328.70 EUR together. The newest is 1045"
        in (call(find_orders, at_acme, customer_id=42)["summary"])
    )


def test_orders_are_found_by_the_customers_city(at_acme: ToolContext, at_globex: ToolContext) -> None:
    found = call(find_orders, at_acme, status="open", city="Vienna")
    assert [order["number"] for order in found["orders"]] == [1009]
    assert found["summary"].startswith("1 open order of customers in Vienna, 906.80 EUR: 1009 of Aisha Rahmani.")
    assert call(find_orders, at_globex, city="Vienna")["summary"] == "No orders of customers in Vienna."


def test_sums_of_currencies_stay_apart(at_acme: ToolContext) -> None:
    Order.objects.filter(tenant_id=at_acme.tenant.id, number=1045).update(currency="CHF")
    found = call(find_orders, at_acme, customer_id=42)
    assert found["sums"] == [{"amount": "189.00", "currency": "CHF"}, {"amount": "1139.70", "currency": "EUR"}]
    assert "189.00 CHF and 1,139.70 EUR together" in found["summary"]
