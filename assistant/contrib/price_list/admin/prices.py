"""The pages of the price list, for operators only, since the costs of all tenants are computed with it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.merging import MergingForm
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_list, is_operator, picked_tenant_id
from assistant.contrib.price_list.models import ModelPrice


class PriceForm(MergingForm):
    """A price, which belongs to the tenant of its provider."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        provider = cleaned.get("provider")
        self.instance.tenant = None if provider is None else provider.tenant
        return cleaned


class ModelPriceAdmin(TenantScopedAdmin):
    """Prices by provider and model, with the day from which they hold. They do not change the cost of earlier usage."""

    form = PriceForm  # type: ignore[assignment]  # its rows take the tenant of their provider
    tenant_admins_may = frozenset()
    list_display = (
        "model_or_all",
        "provider_or_any",
        "input_price",
        "output_price",
        "cached_price",
        "write_price",
        "valid_from",
    )
    list_display_links = ("model_or_all",)
    list_filter = ("provider", "valid_from")
    search_fields = ("model", "provider__name")
    list_select_related = ("provider__tenant",)
    fields = ("provider", "model", "input", "output", "cached_input", "cache_write", "valid_from")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ModelPrice]:
        """With a tenant picked, the prices that hold for it: those of no tenant's provider too."""
        picked = picked_tenant_id(request) if is_list(request) else None
        if picked is None or not is_operator(request):
            return super().get_queryset(request)
        return ModelPrice.objects.filter(Q(tenant=None) | Q(tenant=picked))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"valid_from": timezone.now().date(), **super().get_changeform_initial_data(request)}

    @admin.display(description=_("input"), ordering="input")
    def input_price(self, price: ModelPrice) -> str:
        return _shown(price.input)

    @admin.display(description=_("output"), ordering="output")
    def output_price(self, price: ModelPrice) -> str:
        return _shown(price.output)

    @admin.display(description=_("cached input"), ordering="cached_input")
    def cached_price(self, price: ModelPrice) -> str:
        return "—" if price.cached_input is None else _shown(price.cached_input)

    @admin.display(description=_("cache writes"), ordering="cache_write")
    def write_price(self, price: ModelPrice) -> str:
        return "—" if price.cache_write is None else _shown(price.cache_write)

    @admin.display(description=_("model"), ordering="model")
    def model_or_all(self, price: ModelPrice) -> str:
        return price.model or gettext("every model")

    @admin.display(description=_("provider"), ordering="provider__name")
    def provider_or_any(self, price: ModelPrice) -> str:
        if price.provider is None:
            return gettext("any")
        tenant = price.provider.tenant
        return price.provider.name if tenant is None else f"{price.provider.name} ({tenant.slug})"


def _shown(price: Decimal) -> str:
    """Return a price with its currency, and without zeros at its end."""
    return f"{settings.ASSISTANT_CURRENCY} {price.normalize():f}"
