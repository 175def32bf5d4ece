"""The demo shop's models. Every row belongs to a tenant."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone


class Customer(models.Model):
    """A customer of a tenant. `number` identifies the customer to people and is unique within the tenant."""

    class Status(models.TextChoices):
        ACTIVE = "active", "Active"
        PROSPECT = "prospect", "Prospect"
        BLOCKED = "blocked", "Blocked"
        CLOSED = "closed", "Closed"

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="customers")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    email = models.EmailField()
    phone = models.CharField(max_length=40, blank=True)
    company = models.CharField(max_length=200, blank=True)
    city = models.CharField(max_length=100, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["tenant_id", "number"]
        constraints = [models.UniqueConstraint(fields=["tenant", "number"], name="one_customer_per_number")]

    def __str__(self) -> str:
        return f"{self.number} {self.name}"


class Order(models.Model):
    """An order. `total` is the amount billed, including discounts and shipping."""

    class Status(models.TextChoices):
        OPEN = "open", "Open"
        PAID = "paid", "Paid"
        SHIPPED = "shipped", "Shipped"
        CANCELLED = "cancelled", "Cancelled"
        REFUNDED = "refunded", "Refunded"

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="orders")
    number = models.PositiveIntegerField()
    customer = models.ForeignKey(Customer, on_delete=models.RESTRICT, related_name="orders")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    total = models.DecimalField(max_digits=12, decimal_places=2, validators=[MinValueValidator(0)])
    currency = models.CharField(max_length=3, default="EUR", help_text="ISO 4217, such as EUR.")
    placed_at = models.DateTimeField()

    class Meta:
        ordering = ["tenant_id", "-placed_at", "-number"]
        constraints = [models.UniqueConstraint(fields=["tenant", "number"], name="one_order_per_number")]
        indexes = [models.Index(fields=["tenant", "status", "-placed_at"], name="orders_by_status")]

    def __str__(self) -> str:
        return f"Order {self.number}"


class OrderLine(models.Model):
    """A line of an order, with the price at which the product was sold."""

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="+")
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.CharField(max_length=200)
    quantity = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    unit_price = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.product}"
