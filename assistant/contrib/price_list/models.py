"""The price list: what a million tokens cost, and from when on."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.models import Provider, Tenant
from assistant.models.tenants import validate_same_tenant

MAX_PRICE = 1_000_000


def _price(name: Any, **options: Any) -> models.DecimalField[Any, Any]:
    bounds = [MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(MAX_PRICE))]
    return models.DecimalField(name, max_digits=14, decimal_places=6, validators=bounds, **options)


class ModelPrice(models.Model):
    """What a million tokens of a model cost from a day on, until a later row of the same provider and model."""

    # Row-level security lets all tenants read the prices without a tenant.
    is_for_all_without_tenant = True

    tenant = models.ForeignKey(
        Tenant,
        null=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("The provider's. Empty: for all tenants."),
    )
    provider = models.ForeignKey(
        Provider,
        verbose_name=_("provider"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="price_list",
        help_text=_("Empty: any provider; tenants' own providers only where these have no price for the model."),
    )
    model = models.CharField(
        _("model"),
        max_length=200,
        blank=True,
        help_text=_(
            "The model's name or its beginning, since providers answer with dated names; the longest that fits "
            "holds. Empty: every model of the provider."
        ),
    )
    input = _price(_("input"), help_text=_("A million input tokens, in the currency of all costs."))
    output = _price(_("output"), help_text=_("A million output tokens."))
    cached_input = _price(
        _("cached input"), null=True, blank=True, help_text=_("A million cached input tokens. Empty: as other input.")
    )
    cache_write = _price(
        _("cache writes"),
        null=True,
        blank=True,
        help_text=_("A million input tokens that the provider writes to a cache. Empty: 1.25 times other input."),
    )
    valid_from = models.DateField(
        _("valid from"), help_text=_("The first day, in UTC. What was used before keeps its cost.")
    )

    class Meta:
        verbose_name_plural = _("prices")
        ordering = ["model", "provider", "-valid_from"]
        verbose_name = _("price")
        constraints = [
            models.UniqueConstraint(fields=["provider", "model", "valid_from"], name="one_price_a_day"),
            # SQLite has no NULLS NOT DISTINCT.
            models.UniqueConstraint(
                fields=["model", "valid_from"], condition=Q(provider=None), name="one_price_a_day_of_any_provider"
            ),
        ]

    def __str__(self) -> str:
        return gettext("%(model)s from %(day)s") % {
            "model": self.model or gettext("every model"),
            "day": self.valid_from,
        }

    def clean(self) -> None:
        super().clean()
        validate_same_tenant(self, self.tenant_id, "provider")
        if self.provider_id is None and not self.model:
            raise ValidationError({"model": _("Name a model, a provider, or both.")})
