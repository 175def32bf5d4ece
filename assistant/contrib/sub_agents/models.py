"""Which assistants an assistant may ask."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.tenants import Tenant


class Delegation(models.Model):
    """Which assistants one may ask, and what others must send it when they ask it."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.OneToOneField(
        Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="delegation"
    )
    delegates: models.ManyToManyField[Assistant, Assistant] = models.ManyToManyField(
        Assistant,
        verbose_name=_("delegates"),
        blank=True,
        related_name="delegators",
        help_text=_("Assistants that this one may ask; each answers with its own prompt, model and tools."),
    )
    task_schema = models.JSONField(
        _("task schema"),
        null=True,
        blank=True,
        help_text=_("A JSON Schema of an object: the task that other assistants must send. Empty: a text."),
    )

    class Meta:
        verbose_name = _("delegates")
        verbose_name_plural = _("delegates")

    def __str__(self) -> str:
        return f"{self.assistant_id}"
