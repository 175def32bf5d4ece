"""Loads the demo's customers and orders: the same numbers in both tenants, for different people and orders."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TypedDict, cast

from django.db import models, transaction
from django.utils import timezone

from tools.models import Customer, Order, OrderLine

FIXTURES = Path(__file__).resolve().parent / "fixtures"


class _Customer(TypedDict):
    number: int
    name: str
    email: str
    phone: str
    company: str
    city: str
    status: str
    notes: str
    days_ago: int


class _Line(TypedDict):
    product: str
    quantity: int
    unit_price: str


class _Order(TypedDict):
    number: int
    customer: int
    status: str
    total: str
    days_ago: float
    lines: list[_Line]


class _Sales(TypedDict):
    currency: str
    customers: list[_Customer]
    orders: list[_Order]


@transaction.atomic
def load_demo(acme_tenant: models.Model, globex_tenant: models.Model) -> None:
    """Create both tenants' customers and orders. Existing rows are not changed."""
    now = timezone.now()
    for tenant, folder in ((acme_tenant, FIXTURES / "acme"), (globex_tenant, FIXTURES / "globex")):
        sales = cast(_Sales, json.loads((folder / "sales.json").read_text(encoding="utf-8")))
        _load_customers(tenant, sales, now)
        _load_orders(tenant, sales, now)


def _load_customers(tenant: models.Model, sales: _Sales, now: datetime) -> None:
    Customer.objects.bulk_create(
        [
            Customer(
                tenant_id=tenant.pk,
                number=row["number"],
                name=row["name"],
                email=row["email"],
                phone=row["phone"],
                company=row["company"],
                city=row["city"],
                status=row["status"],
                notes=row["notes"],
                created_at=now - timedelta(days=row["days_ago"]),
            )
            for row in sales["customers"]
        ],
        ignore_conflicts=True,
    )


def _load_orders(tenant: models.Model, sales: _Sales, now: datetime) -> None:
    customers = dict(Customer.objects.filter(tenant_id=tenant.pk).values_list("number", "pk"))
    existing = set(Order.objects.filter(tenant_id=tenant.pk).values_list("number", flat=True))
    rows = {row["number"]: row for row in sales["orders"] if row["number"] not in existing}
    orders = Order.objects.bulk_create(
        [
            Order(
                tenant_id=tenant.pk,
                number=row["number"],
                customer_id=customers[row["customer"]],
                status=row["status"],
                total=Decimal(row["total"]),
                currency=sales["currency"],
                placed_at=now - timedelta(days=row["days_ago"]),
            )
            for row in rows.values()
        ]
    )
    OrderLine.objects.bulk_create(
        [
            OrderLine(
                tenant_id=tenant.pk,
                order=order,
                product=line["product"],
                quantity=line["quantity"],
                unit_price=Decimal(line["unit_price"]),
            )
            for order in orders
            for line in rows[order.number]["lines"]
        ]
    )
