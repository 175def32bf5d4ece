"""The tools for customers: search, reading and changes, separately for each tenant."""

from __future__ import annotations

import pytest

from assistant.toolkit import Change, InvalidArguments, ToolContext, ToolError
from tests.library.calling import call
from tools.customers import find_customers, get_customer, update_customer
from tools.models import Customer

pytestmark = pytest.mark.usefixtures("demo")


def test_one_number_names_different_people_in_two_tenants(at_acme: ToolContext, at_globex: ToolContext) -> None:
    assert call(get_customer, at_acme, customer_id=42)["name"] == "Lena Hofbauer"
    assert call(get_customer, at_globex, customer_id=42)["name"] == "Raymond Okafor"


def test_a_record_has_all_fields(at_acme: ToolContext) -> None:
    record = call(get_customer, at_acme, customer_id=42)
    assert (record["company"], record["city"], record["status"]) == ("Hofbauer Alpine Guides", "Innsbruck", "active")
    assert (record["orders"], record["customer_since"][:2]) == (5, "20")


@pytest.mark.parametrize("number", [4242, 10**15])
def test_an_unknown_number_is_an_error_to_the_model(at_acme: ToolContext, number: int) -> None:
    with pytest.raises(ToolError, match=f"There is no customer {number}."):
        call(get_customer, at_acme, customer_id=number)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("hofbauer", ["Lena Hofbauer"]),
        ("Lena Innsbruck", ["Lena Hofbauer"]),
        ("42", ["Lena Hofbauer"]),
        ("brno", ["Tomáš Novák"]),
        ("innsbruck", ["Katharina Moser", "Matthias Huber", "Lena Hofbauer"]),
        ("sofia.papadaki@mail.example", ["Sofia Papadaki"]),
        ("%", []),
        ("Okafor", []),
        ("Pittsburgh", []),
    ],
)
def test_customers_are_found_by_any_of_their_words(at_acme: ToolContext, query: str, names: list[str]) -> None:
    found = call(find_customers, at_acme, query=query)
    assert [customer["name"] for customer in found["customers"]] == names
    assert found["total"] == len(names)


def test_a_cut_list_says_how_many_there_are(at_acme: ToolContext) -> None:
    found = call(find_customers, at_acme, query="example", limit=2)
    assert (len(found["customers"]), found["total"]) == (2, 25)


def test_only_the_given_fields_change(at_acme: ToolContext) -> None:
    before = call(get_customer, at_acme, customer_id=42)
    update = call(update_customer, at_acme, customer_id=42, city=" Hall ", phone="", email=before["email"])
    assert update == {"changed": ["phone", "city"], "customer": {**before, "city": "Hall", "phone": ""}}
    assert call(get_customer, at_acme, customer_id=42) == update["customer"]


def test_a_change_stays_within_the_tenant(at_acme: ToolContext, at_globex: ToolContext) -> None:
    call(update_customer, at_globex, customer_id=42, status="blocked")
    assert call(get_customer, at_acme, customer_id=42)["status"] == "active"


def test_another_tenants_customer_can_be_neither_read_nor_changed(at_acme: ToolContext, at_globex: ToolContext) -> None:
    Customer.objects.filter(tenant_id=at_acme.tenant.id, number=11).update(number=911)
    for tool, arguments in ((get_customer, {}), (update_customer, {"city": "Elsewhere"})):
        with pytest.raises(ToolError, match=r"There is no customer 911\."):
            call(tool, at_globex, customer_id=911, **arguments)
    assert call(get_customer, at_acme, customer_id=911)["city"] == "Umeå"


def test_a_wrong_address_changes_nothing(at_acme: ToolContext) -> None:
    with pytest.raises(ToolError, match=r"Nothing was changed\. email: Enter a valid email address"):
        call(update_customer, at_acme, customer_id=42, email="nobody", city="Elsewhere")
    assert call(get_customer, at_acme, customer_id=42)["city"] == "Innsbruck"


def test_a_change_of_nothing_is_refused(at_acme: ToolContext) -> None:
    with pytest.raises(ToolError, match="at least one field"):
        call(update_customer, at_acme, customer_id=42)


def test_an_unknown_status_is_refused(at_acme: ToolContext) -> None:
    with pytest.raises(InvalidArguments, match="status"):
        call(update_customer, at_acme, customer_id=42, status="asleep")


def test_what_an_update_would_change_is_told(at_acme: ToolContext, at_globex: ToolContext) -> None:
    assert update_customer.preview is not None
    wanted = {"customer_id": 42, "city": "Graz", "company": "Hofbauer Alpine Guides"}
    assert update_customer.preview(wanted, at_acme) == [Change("City of Lena Hofbauer", "Innsbruck", "Graz")]
    assert update_customer.preview({**wanted, "customer_id": 2**31}, at_acme) == []
    (theirs,) = update_customer.preview({"customer_id": 42, "city": "Graz"}, at_globex)
    assert "Okafor" in theirs.label
