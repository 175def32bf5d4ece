"""Webhooks, which send events to a tenant's own programs, and their deliveries."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import AddressField, EncryptedTextField
from assistant.models.tenants import Tenant


class Webhook(models.Model):
    """A tenant's URL that receives events; its signing secrets are encrypted at rest."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="webhooks")
    name = models.CharField(_("name"), max_length=100)
    url = AddressField(_("URL"), max_length=500)
    events = models.JSONField(_("events"), default=list)
    is_active = models.BooleanField(_("active"), default=True)
    secret = EncryptedTextField(editable=False)
    previous_secret = EncryptedTextField(blank=True, editable=False)
    previous_secret_until = models.DateTimeField(
        null=True, editable=False, help_text=_("Until then messages are signed with both secrets.")
    )
    failing_since = models.DateTimeField(
        null=True, editable=False, help_text=_("Time of the first failure since the last success.")
    )
    disabled_at = models.DateTimeField(
        null=True, editable=False, help_text=_("When it was switched off because of failures.")
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "name"]
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="webhook_name_per_tenant")]

    def __str__(self) -> str:
        return self.name


class WebhookDelivery(models.Model):
    """One event for one webhook, written in the transaction of the change that it reports.

    A worker claims it by setting `claim` and moving `next_try_at` ahead; if the worker dies, it becomes due again.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("On its way")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Given up")

    tenant = models.ForeignKey(
        Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="webhook_deliveries"
    )
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", verbose_name=_("webhook"))
    message_id = models.CharField(
        _("message id"), max_length=64, help_text=_("The same for every attempt, so that receivers can detect repeats.")
    )
    event = models.CharField(_("event"), max_length=40)
    body = models.TextField(help_text=_("The exact text that is sent and signed."))
    trace_parent = models.CharField(
        max_length=55,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("The span that it reports of, as a W3C traceparent header."),
    )
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_try_at = models.DateTimeField(_("next try at"), null=True)
    claim = models.CharField(max_length=32, blank=True, editable=False)
    response_code = models.PositiveSmallIntegerField(_("response code"), null=True)
    error = models.CharField(_("error"), max_length=300, blank=True)
    duration_ms = models.PositiveIntegerField(_("duration ms"), null=True)
    tried_at = models.DateTimeField(_("tried at"), null=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("webhook delivery")
        verbose_name_plural = _("webhook deliveries")
        constraints = [models.UniqueConstraint(fields=["webhook", "message_id"], name="one_delivery_per_message")]
        indexes = [
            models.Index(fields=["webhook", "next_try_at"], condition=Q(status="pending"), name="pending_deliveries"),
            models.Index(fields=["tenant", "-created_at"], name="deliveries_of_a_tenant"),
            models.Index(fields=["created_at"], name="deliveries_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message_id}"
