"""What the panel stores: the views of lists that people have saved, and sums of days that its pages read."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

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
