"""Token usage by run and model."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.runs import Run
from assistant.models.tenants import Tenant


class UsageEntry(models.Model):
    """Tokens that one run used of one model, as counted by the provider."""

    class Purpose(models.TextChoices):
        ANSWER = "", _("Answers")
        TITLE = "title", _("Titles and follow-up questions")
        EMBEDDING = "embed", _("Search by meaning")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="usage")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    assistant = models.ForeignKey(
        Assistant, verbose_name=_("assistant"), null=True, on_delete=models.SET_NULL, related_name="+"
    )
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="usage")
    provider = models.CharField(_("provider"), max_length=100, blank=True)
    model = models.CharField(_("model"), max_length=200)
    purpose = models.CharField(
        _("purpose"),
        max_length=8,
        choices=Purpose.choices,
        default=Purpose.ANSWER,
        db_default=Purpose.ANSWER,
        blank=True,
    )
    input_tokens = models.PositiveIntegerField(_("input tokens"), default=0)
    output_tokens = models.PositiveIntegerField(_("output tokens"), default=0)
    cached_input_tokens = models.PositiveIntegerField(_("cached input tokens"), default=0)
    reasoning_tokens = models.PositiveIntegerField(_("reasoning tokens"), default=0)
    cache_write_tokens = models.PositiveIntegerField(
        _("cache write tokens"),
        default=0,
        db_default=0,
        help_text=_("Of the input tokens, those that the provider wrote to a cache."),
    )
    cost = models.BigIntegerField(
        _("cost"),
        default=0,
        help_text=_("In millionths of the currency's unit, by the prices of then; it never changes."),
    )
    is_estimated = models.BooleanField(
        _("is estimated"),
        default=False,
        help_text=_("Some of it was estimated here: an answer was cut off, or the provider counted nothing."),
    )
    is_test = models.BooleanField(
        _("test"), default=False, db_default=False, help_text=_("Spent on a test of a prompt.")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("usage entry")
        ordering = ["-created_at"]
        verbose_name_plural = _("usage entries")
        indexes = [
            models.Index(fields=["tenant", "created_at"], name="usage_of_a_tenant"),
            # The spend of all tenants in a month.
            models.Index(fields=["created_at"], name="usage_by_age"),
        ]

    def __str__(self) -> str:
        tokens = {"model": self.model, "input": self.input_tokens, "output": self.output_tokens}
        return gettext("%(model)s: %(input)d in, %(output)d out") % tokens
