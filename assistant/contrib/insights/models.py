"""Sums of a day, when they were made, and warnings of steps down. None of them has anything that a person wrote."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.tenants import Tenant


def _count(name: Any, help_text: Any) -> models.PositiveIntegerField[int, int]:
    return models.PositiveIntegerField(name, default=0, help_text=help_text)


class DaySum(models.Model):
    """What the runs of a day (UTC, by their start) came to, by assistant, prompt version, model, tool and language.

    Rows without a tool are of all runs; one with a tool is of the runs that have called it, so that rows of tools are
    never added up. Tests are left out.
    """

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.ForeignKey(Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="+")
    day = models.DateField(_("day"))
    prompt_number = _count(_("prompt number"), _("Of the prompt version. 0: none."))
    provider = models.CharField(_("provider"), max_length=100, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    tool = models.CharField(_("tool"), max_length=128, blank=True, help_text=_("Empty: all runs."))
    language = models.CharField(
        _("language"),
        max_length=8,
        blank=True,
        default="",
        db_default="",
        help_text=_("Of the questions, as far as their words tell. Empty: not known."),
    )
    runs = _count(_("runs"), _("Runs that have ended."))
    answers = _count(_("answers"), _("Runs that have ended with an answer."))
    thumbs_up = _count(_("thumbs up"), _("Ratings: helpful."))
    thumbs_down = _count(_("thumbs down"), _("Ratings: not helpful."))
    asked_again = _count(_("asked again"), _("Runs for which somebody asked for another answer to the same question."))
    edited = _count(_("edited"), _("Runs for which somebody changed the question and sent it again."))
    stopped = _count(_("stopped"), _("Runs that somebody stopped."))
    failed = _count(_("failed"), _("Runs that failed or were interrupted."))
    cut = _count(_("cut"), _("Runs whose answer was cut off at its limit or by the provider."))
    refused = _count(_("refused"), _("Runs in which a rule refused a tool call."))
    nothing_found = _count(_("nothing found"), _("Runs all of whose searches of documents found nothing."))
    calls = _count(_("calls"), _("Of a tool: its calls."))
    failed_calls = _count(_("failed calls"), _("Of a tool: its calls that failed or timed out."))
    first_word_runs = _count(_("first word runs"), _("Answers whose first word was timed."))
    first_word_ms = models.PositiveBigIntegerField(_("milliseconds until first words"), default=0)
    whole_ms = models.PositiveBigIntegerField(
        _("milliseconds until ends"), default=0, help_text=_("Of all answers, until their end.")
    )
    cost = models.BigIntegerField(_("cost"), default=0, help_text=_("In millionths of the currency's unit."))

    class Meta:
        ordering = ["-day"]
        verbose_name = _("sums of a day")
        verbose_name_plural = _("quality")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "day", "assistant", "prompt_number", "provider", "model", "tool", "language"],
                name="one_sum_per_day_and_key",
            )
        ]
        indexes = [
            # The days of all tenants.
            models.Index(fields=["day"], condition=models.Q(tool=""), name="sums_of_all_runs")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.model} {self.tool}".strip()


class SummedTenant(models.Model):
    """When the sums of a tenant were made last; the process that moves the moment makes them."""

    tenant = models.OneToOneField(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    summed_at = models.DateTimeField(_("summed at"))

    class Meta:
        ordering = ["tenant"]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.summed_at}"


class QualityWarning(models.Model):
    """The answers of an assistant have become worse than its own past: one measure, with the shares in per mille."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.ForeignKey(Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="+")
    measure = models.CharField(_("measure"), max_length=20)
    day = models.DateField(_("day"), help_text=_("The last day that was compared."))
    runs = models.PositiveIntegerField(_("runs"))
    share = models.PositiveIntegerField(_("share"), help_text=_("Of the last days, in per mille."))
    earlier_share = models.PositiveIntegerField(_("earlier share"), help_text=_("Of the weeks before, in per mille."))
    mail_due_at = models.DateTimeField(_("mail due at"), null=True)
    mail_tries = models.PositiveSmallIntegerField(_("mail tries"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("warning of quality")
        verbose_name_plural = _("warnings of quality")
        constraints = [
            models.UniqueConstraint(fields=["assistant", "measure", "day"], name="one_quality_warning_per_day")
        ]
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="quality_warnings_of_a_tenant"),
            models.Index(fields=["mail_due_at"], condition=models.Q(mail_due_at__isnull=False), name="quality_mails"),
        ]

    def __str__(self) -> str:
        return f"{self.measure} {self.day}"


def warned_at() -> list[int]:
    return [50, 80, 100]


class WarningSettings(models.Model):
    """When a tenant is warned of its spend, and who gets its warnings by e-mail; the defaults without a row."""

    tenant = models.OneToOneField(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    percentages = models.JSONField(
        default=warned_at,
        blank=True,
        help_text=_("Whole percentages of the limit of cost a month, each told once a month. None: no warnings."),
    )
    emails = models.JSONField(default=list, blank=True, help_text=_("Who is warned by e-mail. Empty: the owners."))

    class Meta:
        ordering = ["tenant"]
        verbose_name = verbose_name_plural = _("settings of warnings")

    def __str__(self) -> str:
        return str(self.percentages)


class SpendNotice(models.Model):
    """Records that a tenant spent `percent` of its monthly limit of cost, so that it is reported only once."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    month = models.DateField(help_text=_("The first day, in UTC."))
    percent = models.PositiveSmallIntegerField()
    spent = models.BigIntegerField(help_text=_("In millionths of the currency's unit, as the limit."))
    limit = models.BigIntegerField()
    mail_due_at = models.DateTimeField(
        null=True, help_text=_("When an e-mail is tried next. Empty: none is to be sent.")
    )
    mail_tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("warning about spend")
        verbose_name_plural = _("warnings about spend")
        ordering = ["-created_at", "-percent"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "month", "percent"], name="one_notice_a_month_and_percent")
        ]
        indexes = [
            models.Index(fields=["mail_due_at"], condition=Q(mail_due_at__isnull=False), name="spend_mails_to_send")
        ]

    def __str__(self) -> str:
        return f"{self.percent} % in {self.month:%Y-%m}"
