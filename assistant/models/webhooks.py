"""Where a tenant's own programs are told of events, and each message that is told them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from assistant.models.fields import AddressField, EncryptedTextField
from assistant.models.tenants import Tenant


class Webhook(models.Model):
    """An address of a tenant's that is sent events; its signing secrets are encrypted at rest."""

    class Event(models.TextChoices):
        RUN_FINISHED = "run.finished", "run.finished: a run has ended, well or not"
        APPROVAL_WANTED = "approval.wanted", "approval.wanted: a run waits for a person to approve a tool call"
        QUOTA_REACHED = "quota.reached", "quota.reached: something is refused because it was used so much"
        TOOL_INCIDENT = "tool.incident", "tool.incident: a tool's result was stopped, since it held a foreign row"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=100)
    url = AddressField("URL", max_length=500)
    events = models.JSONField(default=list)
    is_active = models.BooleanField(default=True)
    secret = EncryptedTextField(editable=False)
    previous_secret = EncryptedTextField(blank=True, editable=False)
    previous_secret_until = models.DateTimeField(null=True, editable=False, help_text="Until then both secrets sign.")
    failing_since = models.DateTimeField(
        null=True, editable=False, help_text="When it first failed after its last success."
    )
    disabled_at = models.DateTimeField(null=True, editable=False, help_text="When it was switched off for failing.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="webhook_name_per_tenant")]

    def __str__(self) -> str:
        return self.name


class WebhookDelivery(models.Model):
    """One event on its way to one webhook; it is written in the transaction of what it tells of.

    Whoever sends it puts `next_try_at` ahead and writes their `claim`: if they die, it is due again.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "On its way"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Given up"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="webhook_deliveries")
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=64, help_text="The same at every try; receivers tell repeats by it.")
    event = models.CharField(max_length=40)
    body = models.TextField(help_text="The very text that is sent and signed.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True)
    claim = models.CharField(max_length=32, blank=True, editable=False)
    response_code = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True)
    duration_ms = models.PositiveIntegerField(null=True)
    tried_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name_plural = "webhook deliveries"
        constraints = [models.UniqueConstraint(fields=["webhook", "message_id"], name="one_delivery_per_message")]
        indexes = [
            models.Index(fields=["webhook", "next_try_at"], condition=Q(status="pending"), name="pending_deliveries"),
            models.Index(fields=["tenant", "-created_at"], name="deliveries_of_a_tenant"),
            models.Index(fields=["created_at"], name="deliveries_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message_id}"
