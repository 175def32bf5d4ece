"""Alarms that members set by the shipped reminder tools, and who gets them by e-mail."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import sources_field


class Alarm(models.Model):
    """A member's alarm; numbered from 1 for each member."""

    class State(models.TextChoices):
        SET = "set", _("Set")
        RINGING = "ringing", _("Ringing")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")

    tenant = models.ForeignKey("assistant.Tenant", verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    number = models.PositiveIntegerField(editable=False)
    at = models.DateTimeField(_("at"))
    label = models.CharField(_("label"), max_length=200, blank=True)
    sources = sources_field(
        editable=False,
        help_text=_("Where the untrusted text came from that the model had read when it wrote the label."),
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.SET)
    idempotency_key = models.CharField(
        max_length=200, blank=True, editable=False, help_text=_("The idempotency key of the tool call that set it.")
    )
    rings = models.PositiveIntegerField(
        _("rings"),
        default=0,
        db_default=0,
        editable=False,
        help_text=_("How often it has rung; again after each snooze."),
    )
    rang_at = models.DateTimeField(_("rang"), null=True, editable=False)
    seen_at = models.DateTimeField(
        _("shown"),
        null=True,
        editable=False,
        help_text=_("When a chat or widget of the person has shown that it rings."),
    )
    told_at = models.DateTimeField(
        _("told elsewhere"),
        null=True,
        editable=False,
        help_text=_("When no chat showed it, and e-mail or webhooks told it."),
    )
    mail_tries = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("alarm")
        verbose_name_plural = _("alarms")
        ordering = ["at", "id"]
        indexes = [models.Index(fields=["tenant", "user"], condition=models.Q(state="ringing"), name="ringing_alarms")]
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


class TenantAlarms(models.Model):
    """What a tenant has set for its members' alarms; without a row the defaults are valid."""

    tenant = models.OneToOneField("assistant.Tenant", on_delete=models.CASCADE, related_name="alarms")
    are_mailed = models.BooleanField(
        _("alarms by e-mail"),
        default=True,
        help_text=_("To members with no chat open, unless they have switched it off. Webhooks get alarm.unseen."),
    )

    class Meta:
        verbose_name = _("alarms of a tenant")
        verbose_name_plural = _("alarms of tenants")

    def __str__(self) -> str:
        return str(self.tenant_id)


class PersonAlarms(models.Model):
    """What a person has set for their alarms in all tenants. A row of no tenant."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+")
    # For pages: the page of one's own settings shows it.
    are_mailed = models.BooleanField(_("alarms by e-mail, when no chat is open"), default=True)

    class Meta:
        verbose_name = _("alarms of a person")
        verbose_name_plural = _("alarms of people")

    def __str__(self) -> str:
        return str(self.user_id)
