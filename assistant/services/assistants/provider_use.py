"""Finds the assistants and tenants that use a provider: what its pages show, and why it cannot be deleted."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from assistant.models import Assistant, Provider, Tenant


def assistants_of(*, provider: Provider) -> QuerySet[Assistant]:
    """Return the assistants that answer with a provider, with their tenants, by `choose_provider`'s order of layers.

    They have it themselves; or have none and their tenant has it as its default; or neither has one and it is the
    tenant's oldest that is in use.
    """
    found = answering_assistants().filter(answering=provider.pk)
    return found.select_related("tenant").order_by("tenant__name", "name", "slug")


def tenants_of(*, provider: Provider) -> QuerySet[Tenant]:
    """Return the tenants that have a provider as their default, by name."""
    return Tenant.objects.filter(default_provider=provider).order_by("name", "slug")


def fallbacks_of(*, provider: Provider) -> tuple[QuerySet[Assistant], QuerySet[Tenant]]:
    """Return the assistants, with their tenants, and the tenants that have a provider as their fallback, by name."""
    assistants = Assistant.objects.filter(fallback_provider=provider).select_related("tenant")
    tenants = Tenant.objects.filter(fallback_provider=provider)
    return assistants.order_by("tenant__name", "name", "slug"), tenants.order_by("name", "slug")


def answering_assistants() -> QuerySet[Any]:
    """Return all assistants, with the id of the provider that they answer with."""
    own = Provider.objects.filter(tenant=OuterRef("tenant"), is_untested=False)
    oldest = own.order_by().values("tenant").annotate(first=Min("pk"))
    return Assistant.objects.annotate(
        answering=Coalesce(F("provider"), F("tenant__default_provider"), Subquery(oldest.values("first")))
    )
