"""How tenants and their assistants may use tools."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.fields import EncryptedTextField
from assistant.models.tenants import Tenant, validate_same_tenant
from assistant.models.toolblocks import MAX_REASON

# What a change of a switch says of a tool that has none of its own.
FOLLOW = "follow"


class ToolSetting(models.Model):
    """How a tenant, or one of its assistants, may use a tool: the policy, settings and secrets.

    With a reason the tool is off until `until` by the database's clock, whatever the policy says, which decides again
    afterwards.
    """

    class Policy(models.TextChoices):
        ON = "on", _("On")
        ASK = "ask", _("Ask first")
        OFF = "off", _("Off")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="tool_settings")
    assistant = models.ForeignKey(
        Assistant,
        verbose_name=_("assistant"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="tool_settings",
        help_text=_("Empty: for the whole tenant."),
    )
    tool = models.CharField(_("tool"), max_length=64)
    policy = models.CharField(_("policy"), max_length=3, choices=Policy.choices, default=Policy.ON)
    reason = models.CharField(
        _("off because"),
        max_length=MAX_REASON,
        blank=True,
        help_text=_(
            "With a reason the tool is off, whatever the policy says. Members read it in their open chats and in the "
            "cards of refused calls, and the model does."
        ),
    )
    until = models.DateTimeField(
        _("off until"),
        null=True,
        blank=True,
        help_text=_("Then the policy decides again. Empty: until the reason is removed."),
    )
    config = models.JSONField(_("config"), default=dict, blank=True)
    secrets = EncryptedTextField(blank=True, help_text=_("A JSON object of the tool's secrets, encrypted at rest."))
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("tool setting")
        verbose_name_plural = _("tool settings")
        ordering = ["tenant", "tool"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "assistant", "tool"], name="one_switch_per_tool"),
            # SQLite has no NULLS NOT DISTINCT.
            models.UniqueConstraint(
                fields=["tenant", "tool"], condition=Q(assistant=None), name="one_tenant_switch_per_tool"
            ),
        ]

    def __str__(self) -> str:
        is_off = bool(self.reason) and (self.until is None or self.until > timezone.now())
        return f"{self.tool}: {self.Policy.OFF.label if is_off else self.get_policy_display()}"

    def clean(self) -> None:
        super().clean()
        # The inline on the assistant's page sets the tenant only when it saves the switch.
        if self.tenant_id is not None:
            validate_same_tenant(self, self.tenant_id, "assistant")
