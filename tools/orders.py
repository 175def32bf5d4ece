"""Tools for orders: search by status or customer, and read one with its lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from django.db.models import Count, QuerySet
from django.db.models import Sum as DatabaseSum

from assistant.toolkit import Example, Param, ToolContext, ToolError, tool
from tools.models import Customer, Order

Status = Literal["open", "paid", "shipped", "cancelled", "refunded"]
# What a status says of the parcel.
_STATES: Mapping[str, str] = {
    "open": "open, not paid yet",
    "paid": "paid, not shipped yet",
    "shipped": "shipped",
    "cancelled": "cancelled, never shipped",
    "refunded": "refunded, so it came back",
}
# Orders that a summary names.
MAX_TOLD = 10
# SQLite adds with fractions of a cent.
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """An order in a list. `placed_on` is an ISO date."""

    number: int
    customer_id: int
    customer: str
    status: str
    total: Decimal
    currency: str
    placed_on: str


@dataclass(frozen=True, slots=True)
class Sum:
    """What all orders found in one currency sum up to."""

    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class OrderList:
    """The orders found, the newest first, at most `limit`, and how many there are and what they sum up to.

    `summary` says so in a sentence: models copy well, and add badly.
    """

    summary: str
    total_found: int
    sums: list[Sum]
    orders: list[OrderSummary]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an order."""

    product: str
    quantity: int
    unit_price: Decimal


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order with its lines. `total` is the amount billed, including shipping."""

    number: int
    customer_id: int
    customer: str
    status: str
    total: Decimal
    currency: str
    placed_on: str
    lines: list[Line]


@tool(
    title="Find orders",
    read_only=True,
    examples=[
        Example(
            "which cancelled orders does customer 90001 have?",
            {"status": "cancelled", "customer_id": 90001},
            result='{"summary":"No cancelled orders of customer 90001."}',
            answer="There are no cancelled orders of customer 90001.",
        ),
        Example(
            "which customers in Nowhere have paid orders, and what are they together?",
            {"status": "paid", "city": "Nowhere"},
            result='{"summary":"1 paid order of customers in Nowhere, 9.99 XTS: 90002 of Zebulon Quux."}',
            answer="1 paid order of customers in Nowhere, 9.99 XTS: 90002 of Zebulon Quux.",
        ),
        Example(
            "what did customer 90001 order last, and has it arrived?",
            {"customer_id": 90001, "limit": 1},
            result='{"summary":"1 order of customer 90001, Zebulon Quux, 9.99 XTS. The newest is 90002 of 3 February '
            '1911: paid, not shipped yet, 9.99 XTS."}',
            answer="The newest order of Zebulon Quux is 90002 of 3 February 1911. It is paid, not shipped yet.",
        ),
        Example(
            "wie viele Bestellungen hat Kundin 90001, was haben sie zusammen gekostet?",
            {"customer_id": 90001},
            result='{"summary":"1 order of customer 90001, Zebulon Quux, 9.99 XTS."}',
            answer="Kundin 90001, Zebulon Quux, hat 1 Bestellung, zusammen 9.99 XTS.",
        ),
    ],
)
def find_orders(
    context: ToolContext,
    status: Annotated[Status | None, Param("Only orders with this status.")] = None,
    customer_id: Annotated[int | None, Param("Only orders of the customer with this number.", ge=1)] = None,
    city: Annotated[str | None, Param("Of customers there.", max_length=100)] = None,
    limit: Annotated[int, Param("How many at most.", ge=1, le=50)] = 10,
) -> OrderList:
    """List orders, the newest first, and add up what they cost."""
    found = _orders(context)
    of = ""
    if status is not None:
        found = found.filter(status=status)
    if customer_id is not None:
        customer = Customer.objects.filter(tenant_id=context.tenant.pk, number=min(customer_id, 2**31 - 1)).first()
        if customer is None:
            raise ToolError(f"There is no customer {customer_id}.")
        found = found.filter(customer=customer)
        of += f" of customer {customer_id}, {customer.name}"
    if city is not None:
        found = found.filter(customer__city__icontains=city)
        of += f" of customers in {city}"
    sums = found.order_by().values("currency").annotate(amount=DatabaseSum("total"), count=Count("pk"))
    by_currency = list(sums.order_by("currency"))
    rows = list(found[:limit])
    orders = [
        OrderSummary(
            number=row.number,
            customer_id=row.customer.number,
            customer=row.customer.name,
            status=row.status,
            total=row.total,
            currency=row.currency,
            placed_on=f"{row.placed_at:%Y-%m-%d}",
        )
        for row in rows
    ]
    count = sum(row["count"] for row in by_currency)
    amounts = [Sum(row["amount"].quantize(CENT), row["currency"]) for row in by_currency]
    return OrderList(_summary(count, status, of, amounts, rows), count, amounts, orders)


def _summary(count: int, status: Status | None, of: str, sums: list[Sum], newest: list[Order]) -> str:
    """Return how many orders there are, what they sum up to, and the newest: a few of them, or the state of one."""
    kind = f"{status} " if status else ""
    if not newest:
        return f"No {kind}orders{of}."
    together = " and ".join(f"{one.amount:,} {one.currency}" for one in sums)
    text = f"{count} {kind}order{'' if count == 1 else 's'}{of}, {together}{'' if count == 1 else ' together'}"
    if status or count > MAX_TOLD:
        named = ", ".join(f"{order.number} of {order.customer.name}" for order in newest[:MAX_TOLD])
        text += f": {named}{'' if len(newest[:MAX_TOLD]) == count else ' and others'}"
    order = newest[0]
    state = _STATES[order.status]
    told = f"{order.number} of {order.placed_at.day} {order.placed_at:%B %Y}: {state}, {order.total:,} {order.currency}"
    return f"{text}. The newest is {told}."


@tool(
    title="Look up an order",
    read_only=True,
    examples=[
        Example(
            "what is in order 90002?",
            {"number": 90002},
            result='{"number":90002,"customer":"Zebulon Quux","status":"paid","total":"9.99","currency":"XTS",'
            '"lines":[{"product":"Smoke shifter","quantity":1}]}',
            answer="Order 90002 of Zebulon Quux holds one smoke shifter, 9.99 XTS. It is paid.",
        )
    ],
)
def get_order(number: Annotated[int, Param("The order's number.", ge=1)], context: ToolContext) -> OrderRecord:
    """Tell everything about the order with a given number."""
    order = _orders(context).filter(number=number).first() if number < 2**31 else None
    if order is None:
        raise ToolError(f"There is no order {number}.")
    return OrderRecord(
        number=order.number,
        customer_id=order.customer.number,
        customer=order.customer.name,
        status=order.status,
        total=order.total,
        currency=order.currency,
        placed_on=f"{order.placed_at:%Y-%m-%d}",
        lines=[
            Line(line.product, line.quantity, line.unit_price)
            for line in order.lines.filter(tenant_id=context.tenant.pk)
        ],
    )


def _orders(context: ToolContext) -> QuerySet[Order]:
    return Order.objects.filter(tenant_id=context.tenant.pk).select_related("customer")
