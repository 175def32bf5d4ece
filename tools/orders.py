"""Tools for orders: search by status or customer, and read one with its lines."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from django.db.models import QuerySet

from assistant.toolkit import Example, Param, ToolContext, ToolError, tool
from tools.models import Customer, Order

Status = Literal["open", "paid", "shipped", "cancelled", "refunded"]


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
class OrderList:
    """The orders found, the newest first, at most `limit`, and their total number."""

    total_found: int
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
            result='{"total_found":0,"orders":[]}',
            answer="Customer 90001 has no cancelled orders.",
        )
    ],
)
def find_orders(
    context: ToolContext,
    status: Annotated[Status | None, Param("Only orders with this status.")] = None,
    customer_id: Annotated[int | None, Param("Only orders of the customer with this number.", ge=1)] = None,
    limit: Annotated[int, Param("How many at most.", ge=1, le=50)] = 10,
) -> OrderList:
    """List orders, the newest first, by status or customer."""
    found = _orders(context)
    if status is not None:
        found = found.filter(status=status)
    if customer_id is not None:
        customers = Customer.objects.filter(tenant_id=context.tenant.pk, number=min(customer_id, 2**31 - 1))
        if not customers.exists():
            raise ToolError(f"There is no customer {customer_id}.")
        found = found.filter(customer__in=customers)
    rows = found[:limit]
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
    return OrderList(total_found=found.count() if len(orders) == limit else len(orders), orders=orders)


@tool(
    title="Look up an order",
    read_only=True,
    examples=[
        Example(
            "what is in order 90002?",
            {"number": 90002},
            result='{"number":90002,"customer":"Zebulon Quux","status":"paid","total":"9.99","currency":"XTS",'
            '"lines":[{"product":"Left-handed smoke shifter","quantity":1,"unit_price":"9.99"}]}',
            answer="Order 90002 of Zebulon Quux holds one left-handed smoke shifter, 9.99 XTS. It is paid.",
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
