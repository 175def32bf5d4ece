"""Tools for customers: search, read a record, update it.

A tool reads its tenant from the context and filters every query by it. The model never chooses the tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from assistant.toolkit import Change, Example, Param, ToolContext, ToolError, tool
from tools.models import Customer

Status = Literal["active", "prospect", "blocked", "closed"]
_CHANGEABLE = ("name", "email", "phone", "company", "city", "status", "notes")
_SEARCH_FIELDS = ("name", "company", "email", "city", "phone")


@dataclass(frozen=True, slots=True)
class CustomerSummary:
    """A customer in a list. `customer_id` is the number by which the tenant knows them, not the primary key."""

    customer_id: int
    name: str
    company: str
    city: str
    email: str
    status: str


@dataclass(frozen=True, slots=True)
class CustomerList:
    """The customers found, at most `limit`, and their total number."""

    total: int
    customers: list[CustomerSummary]


@dataclass(frozen=True, slots=True)
class CustomerRecord:
    """A customer's record. `customer_since` is an ISO date."""

    customer_id: int
    name: str
    company: str
    email: str
    phone: str
    city: str
    status: str
    notes: str
    customer_since: str
    orders: int


@dataclass(frozen=True, slots=True)
class CustomerUpdate:
    """The names of the changed fields, and the new record."""

    changed: list[str]
    customer: CustomerRecord


@tool(
    title="Find customers",
    read_only=True,
    examples=[
        Example(
            "is there a customer named Quux?",
            {"query": "Quux"},
            result='{"total":1,"customers":[{"customer_id":90001,"name":"Zebulon Quux","city":"Nowhere"}]}',
            answer="Yes: Zebulon Quux from Nowhere, customer 90001.",
        )
    ],
)
def find_customers(
    query: Annotated[str, Param("Words of a name, company, city, email or phone.", min_length=1, max_length=200)],
    context: ToolContext,
    limit: Annotated[int, Param("How many at most.", ge=1, le=50)] = 10,
) -> CustomerList:
    """Search customers by name, company, city, email or phone."""
    found = _customers(context)
    for word in query.replace(",", " ").split():
        matches = Q()
        for field in _SEARCH_FIELDS:
            matches |= Q(**{f"{field}__icontains": word})
        if word.isascii() and word.isdigit() and len(word) < 10:
            matches |= Q(number=int(word))
        found = found.filter(matches)
    customers = [
        CustomerSummary(row.number, row.name, row.company, row.city, row.email, row.status) for row in found[:limit]
    ]
    return CustomerList(total=found.count() if len(customers) == limit else len(customers), customers=customers)


@tool(
    title="Look up a customer",
    read_only=True,
    examples=[
        Example(
            "tell me about customer 90001",
            {"customer_id": 90001},
            result='{"customer_id":90001,"name":"Zebulon Quux","email":"zq@example.invalid","city":"Nowhere"}',
            answer="Customer 90001 is Zebulon Quux from Nowhere (zq@example.invalid).",
        )
    ],
)
def get_customer(
    customer_id: Annotated[int, Param("The customer's number.", ge=1)], context: ToolContext
) -> CustomerRecord:
    """Tell everything about the customer with a given number."""
    return _record(_get(_customers(context), customer_id))


def _changes(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    """Return what an update would change, for the person who approves it; nothing for a number that no customer has."""
    try:
        customer = _get(_customers(context), arguments["customer_id"])
    except ToolError:
        return []  # they see the arguments, in which they may correct the number
    given = {field: arguments.get(field) for field in _CHANGEABLE}
    changed = [(field, value) for field, value in given.items() if value not in (None, getattr(customer, field))]
    return [Change(f"{field.capitalize()} of {customer.name}", getattr(customer, field), new) for field, new in changed]


@tool(
    title="Change a customer",
    idempotent=True,
    preview=_changes,
    examples=[
        Example(
            "customer 90001 moved to Erewhon",
            {"customer_id": 90001, "city": "Erewhon"},
            result='{"changed":["city"],"customer":{"customer_id":90001,"name":"Zebulon Quux","city":"Erewhon"}}',
            answer="Done: the city of customer 90001 is now Erewhon.",
        )
    ],
)
def update_customer(
    customer_id: Annotated[int, Param("The customer's number.", ge=1)],
    context: ToolContext,
    *,
    name: Annotated[str | None, Param("New name.", min_length=1, max_length=200)] = None,
    email: Annotated[str | None, Param("New email address.", max_length=254)] = None,
    phone: Annotated[str | None, Param("New phone number.", max_length=40)] = None,
    company: Annotated[str | None, Param("New company.", max_length=200)] = None,
    city: Annotated[str | None, Param("New city.", max_length=100)] = None,
    status: Annotated[Status | None, Param("New status.")] = None,
    notes: Annotated[str | None, Param("New notes, in place of the old ones.", max_length=5000)] = None,
) -> CustomerUpdate:
    """Change a customer's record. Give only the fields to change."""
    fields = {
        "name": name, "email": email, "phone": phone, "company": company, "city": city, "status": status, "notes": notes
    }  # fmt: skip
    given = {field: value.strip() for field, value in fields.items() if value is not None}
    if not given:
        raise ToolError("Give at least one field to change.")
    with transaction.atomic():
        customer = _get(_customers(context).select_for_update(of=("self",)), customer_id)
        changed = [field for field, value in given.items() if getattr(customer, field) != value]
        for field in changed:
            setattr(customer, field, given[field])
        _validate(customer, changed)
        if changed:
            customer.save(update_fields=changed)
    return CustomerUpdate(changed, _record(customer))


def _customers(context: ToolContext) -> QuerySet[Customer]:
    return Customer.objects.filter(tenant_id=context.tenant.pk)


def _get(customers: QuerySet[Customer], number: int) -> Customer:
    """Return a customer by number. Raises `ToolError`; the number of another tenant's customer does not exist here."""
    customer = customers.filter(number=number).first() if number < 2**31 else None
    if customer is None:
        raise ToolError(f"There is no customer {number}.")
    return customer


def _validate(customer: Customer, changed: list[str]) -> None:
    """Validate the changed fields. Raises `ToolError`, whose message lets the model correct its arguments."""
    try:
        customer.clean_fields(exclude={field.name for field in customer._meta.fields} - set(changed))
    except ValidationError as exc:
        problems = "; ".join(f"{field}: {' '.join(messages)}" for field, messages in exc.message_dict.items())
        raise ToolError(f"Nothing was changed. {problems}") from exc


def _record(customer: Customer) -> CustomerRecord:
    orders = customer.orders.filter(tenant_id=customer.tenant_id).aggregate(count=Count("id"))["count"]
    return CustomerRecord(
        customer_id=customer.number,
        name=customer.name,
        company=customer.company,
        email=customer.email,
        phone=customer.phone,
        city=customer.city,
        status=customer.status,
        notes=customer.notes,
        customer_since=f"{customer.created_at:%Y-%m-%d}",
        orders=orders,
    )
