"""The shop's API of django-ninja: its middleware would set `request.company`."""

import uuid
from datetime import date
from decimal import Decimal

from django.shortcuts import get_object_or_404
from ninja import Field, NinjaAPI, Schema
from ninja.security import HttpBearer, django_auth
from orders.models import Company, Customer, Order

api = NinjaAPI(auth=django_auth, urls_namespace="shop")


class Token(HttpBearer):
    def authenticate(self, request, token):
        return None


class OrderOut(Schema):
    id: uuid.UUID
    number: int
    status: str
    total: Decimal
    api_key: str


class OrderIn(Schema):
    number: int = Field(gt=0, description="As printed on the bill")
    total: Decimal


class PlanIn(Schema):
    due_on: date | None


@api.get("/orders", response=list[OrderOut], operation_id="orders")
def orders(request, status: str | None = None):
    """The company's orders."""
    rows = Order.objects.filter(company=request.company).order_by("number")
    return rows.filter(status=status) if status else rows


@api.get("/orders/{order_id}", response=OrderOut, operation_id="order")
def order(request, order_id: uuid.UUID):
    return get_object_or_404(Order, company=request.company, pk=order_id)


@api.post("/orders", response=OrderOut, operation_id="make_order")
def make_order(request, data: OrderIn):
    """Make an order."""
    placed_at = "2031-02-01T10:00:00Z"
    return Order.objects.create(company=request.company, placed_at=placed_at, **data.dict())


@api.patch("/orders/{order_id}", response=OrderOut, operation_id="plan_order")
def plan_order(request, order_id: uuid.UUID, data: PlanIn):
    order = get_object_or_404(Order, company=request.company, pk=order_id)
    order.due_on = data.due_on
    order.save()
    return order


@api.delete("/orders/{order_id}", operation_id="delete_order")
def delete_order(request, order_id: uuid.UUID):
    Order.objects.get(pk=order_id).delete()
    return {"deleted": True}


@api.get("/orders-of-all", response=list[OrderOut], operation_id="orders_of_all")
def orders_of_all(request):
    return Order.objects.all()


@api.get("/companies/{company_id}/customers", operation_id="customers")
def customers(request, company_id: uuid.UUID):
    company = get_object_or_404(Company, pk=company_id)
    return [{"name": one.name} for one in Customer.objects.filter(company=company)]


@api.get("/slow", operation_id="in_the_loop")
async def in_the_loop(request):
    return {"person": str(request.user.pk), "company": request.company.slug}


@api.get("/ledger", auth=Token(), operation_id="ledger")
def ledger(request):
    return {"company": request.company.slug}
