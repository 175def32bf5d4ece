"""The rows that the shipped tools act on; every one of them belongs to a tenant."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone


class Customer(models.Model):
    """Somebody who buys from the tenant; `number` is what people call them by, and each tenant counts its own."""

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
    """What a customer ordered; `total` is what was billed, discounts and shipping included."""

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
    """One article of an order, with the price it was sold at."""

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="+")
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.CharField(max_length=200)
    quantity = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    unit_price = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.product}"


class Alarm(models.Model):
    """A moment a member wants to be reminded of; personal, and numbered from 1 for each member."""

    class State(models.TextChoices):
        SET = "set", "Set"
        CANCELLED = "cancelled", "Cancelled"

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="alarms")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="alarms")
    number = models.PositiveIntegerField(editable=False)
    at = models.DateTimeField()
    label = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.SET)
    idempotency_key = models.CharField(
        max_length=200, blank=True, editable=False, help_text="Of the tool call that set it."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user", "number"], name="one_alarm_per_number"),
            models.UniqueConstraint(
                fields=["tenant", "user", "idempotency_key"],
                condition=~models.Q(idempotency_key=""),
                name="one_alarm_per_call",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label or 'Alarm'} at {self.at:%Y-%m-%d %H:%M} UTC"


class Document(models.Model):
    """A text that the tenant's assistants may quote; stored by `tools.library.documents`, which also indexes it."""

    class Kind(models.TextChoices):
        TEXT = "text", "Plain text"
        MARKDOWN = "markdown", "Markdown"
        PDF = "pdf", "PDF"

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="documents")
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.MARKDOWN)
    text = models.TextField(blank=True, help_text="What is searched; of a PDF its pages, parted by form feeds.")
    filename = models.CharField(max_length=200, blank=True, editable=False, help_text="Of the file it was read from.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["tenant_id", "title", "id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "title"], name="one_document_per_title")]

    def __str__(self) -> str:
        return self.title


class Passage(models.Model):
    """A piece of a document, small enough to quote; the full-text index (see migration 0002) follows these rows."""

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="passages")
    position = models.PositiveIntegerField(help_text="Counted from 1 within the document.")
    title = models.CharField(max_length=200, help_text="The document's, so that it is searched with the passage.")
    heading = models.CharField(max_length=300, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField()

    class Meta:
        ordering = ["document_id", "position"]
        constraints = [models.UniqueConstraint(fields=["document", "position"], name="one_passage_per_position")]

    def __str__(self) -> str:
        return f"{self.title} · {self.position}"
