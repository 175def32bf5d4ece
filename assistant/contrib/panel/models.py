"""What the panel stores: the views of lists that people have saved, and sums of days that its pages read."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.tenants import Tenant

# Characters.
MAX_NAME = 60
MAX_QUERY = 2_000
# Views that a person may save of one list.
MAX_VIEWS = 30


class SavedView(models.Model):
    """A list's filters, search, order and columns under a name: of one person, whom it shows no more than before.

    A row of no tenant: lists show rows of all tenants that somebody may see.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    page = models.CharField(_("page"), max_length=100, help_text=_("The label of the list's model."))
    name = models.CharField(_("name"), max_length=MAX_NAME)
    query = models.CharField(_("query"), max_length=MAX_QUERY, help_text=_("What the list's address says."))

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["user", "page", "name"], name="panel_one_view_per_name")]

    def __str__(self) -> str:
        return self.name


def _number() -> models.PositiveBigIntegerField[int, int]:
    return models.PositiveBigIntegerField(default=0)


class SummedTenant(models.Model):
    """The days of a tenant in a time zone that have sums: all up to `through`. A day without rows has no sum."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    zone = models.CharField(max_length=64, help_text=_("The name of a time zone."))
    through = models.DateField(null=True, help_text=_("Empty: no day yet."))
    checked_at = models.DateTimeField(help_text=_("When sums were last compared with the rows that they are of."))

    class Meta:
        ordering = ["tenant", "zone"]
        verbose_name = verbose_name_plural = _("summed days")
        constraints = [models.UniqueConstraint(fields=["tenant", "zone"], name="panel_summed_once_per_zone")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.zone} {self.through}"


class DaySum(models.Model):
    """Runs that began on a day of a time zone, and what was spent on it. Only of days that are over."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    zone = models.CharField(max_length=64)
    day = models.DateField(_("day"))
    runs = _number()
    failed = _number()
    cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    run_rows = models.PositiveBigIntegerField(default=0, help_text=_("All runs, with tests."))
    usage_rows = models.PositiveBigIntegerField(default=0, help_text=_("All entries of usage."))

    class Meta:
        ordering = ["-day"]
        verbose_name = _("sum of a day")
        verbose_name_plural = _("sums of days")
        constraints = [models.UniqueConstraint(fields=["tenant", "zone", "day"], name="panel_one_sum_per_day")]
        indexes = [models.Index(fields=["zone", "day"], name="panel_sums_of_a_day")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.day}"


class SpendSum(models.Model):
    """What was spent on a day in UTC that is over, by the columns of one of the `Split`s.

    A run that has used several models, or for several purposes, or on two days, is in several rows. Each of the numbers
    of runs counts it once among the rows that are the same in what the number is named for, so that rows add up.
    """

    class Split(models.TextChoices):
        MODEL = "model", _("by assistant, model and purpose")
        TOOL = "tool", _("by assistant, model, purpose and the tools that were called")
        PERSON = "person", _("by assistant and person")

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(_("day"))
    split = models.CharField(max_length=8, choices=Split.choices)
    assistant = models.ForeignKey(Assistant, null=True, on_delete=models.SET_NULL, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    provider = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    purpose = models.CharField(max_length=8, blank=True)
    tools = models.TextField(blank=True, help_text=_("A JSON list of the names of the tools that the runs called."))
    input_tokens = _number()
    output_tokens = _number()
    cached_input_tokens = _number()
    cache_write_tokens = _number()
    unpriced_tokens = _number()
    cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    test_cost = models.BigIntegerField(default=0)
    runs_day = _number()
    runs_day_model = _number()
    runs_day_purpose = _number()
    runs_day_model_purpose = _number()
    runs_month = _number()
    runs_month_model = _number()
    runs_month_purpose = _number()
    runs_month_model_purpose = _number()

    class Meta:
        ordering = ["-day"]
        verbose_name = _("sum of spend")
        verbose_name_plural = _("sums of spend")
        indexes = [
            models.Index(fields=["tenant", "split", "day"], name="panel_spend_of_a_tenant"),
            models.Index(fields=["split", "day"], name="panel_spend_of_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.day} {self.model}"
