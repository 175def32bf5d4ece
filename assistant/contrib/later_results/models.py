"""Tool calls whose result comes later, from outside."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.runs import Run, ToolCall
from assistant.models.tenants import Tenant


class PendingCall(models.Model):
    """What a tool call waits for, and the result that has come."""

    class State(models.TextChoices):
        BEGUN = "begun", _("Its tool runs")
        WAITING = "waiting", _("Waiting")
        ANSWERED = "answered", _("Answered")
        EXPIRED = "expired", _("Nothing came")
        CANCELLED = "cancelled", _("Cancelled")

    left_out_of_exports = ("hashed",)

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="pending_calls")
    call = models.OneToOneField(ToolCall, on_delete=models.CASCADE, related_name="pending")
    run = models.ForeignKey(
        Run,
        on_delete=models.CASCADE,
        related_name="pending_calls",
        help_text=_("The run that ended with it, or that has taken what came."),
    )
    hashed = models.CharField(max_length=64, editable=False)
    state = models.CharField(_("state"), max_length=9, choices=State.choices, default=State.BEGUN)
    until = models.DateTimeField(_("until"), null=True)
    note = models.CharField(_("note"), max_length=200, blank=True, help_text=_("What is waited for, as the tool says."))
    is_trusted = models.BooleanField(
        _("is trusted"), default=False, help_text=_("What comes counts as the tool's own words.")
    )
    result = models.TextField(blank=True, help_text=_("What has come."))
    is_error = models.BooleanField(_("is error"), default=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name_plural = _("pending calls")
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["tenant", "hashed"], name="one_pending_call_per_token")]
        verbose_name = _("pending call")

    def __str__(self) -> str:
        return f"{self.call.name} ({self.get_state_display()})"
