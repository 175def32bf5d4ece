"""Finds the assistants and tenants that use a provider: what its pages show, and why it cannot be deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from assistant.models import Assistant, Provider, Tenant


@dataclass(frozen=True, slots=True)
class ProviderUse:
    """How many assistants answer with a provider, of how many tenants, and how many tenants have it as default.

    `fallbacks` counts the assistants and tenants for which it takes over when another one cannot answer.
    """

    assistants: int = 0
    tenants: int = 0
    defaults: int = 0
    fallbacks: int = 0


def assistants_of(*, provider: Provider) -> QuerySet[Assistant]:
    """Return the assistants that answer with a provider, with their tenants, by `choose_provider`'s order of layers.

    They have it themselves; or have none and their tenant has it as its default; or neither has one and it is the
    tenant's oldest that is in use.
    """
    found = _answering().filter(answering=provider.pk)
    return found.select_related("tenant").order_by("tenant__name", "name", "slug")


def tenants_of(*, provider: Provider) -> QuerySet[Tenant]:
    """Return the tenants that have a provider as their default, by name."""
    return Tenant.objects.filter(default_provider=provider).order_by("name", "slug")


def fallbacks_of(*, provider: Provider) -> tuple[QuerySet[Assistant], QuerySet[Tenant]]:
    """Return the assistants, with their tenants, and the tenants that have a provider as their fallback, by name."""
    assistants = Assistant.objects.filter(fallback_provider=provider).select_related("tenant")
    tenants = Tenant.objects.filter(fallback_provider=provider)
    return assistants.order_by("tenant__name", "name", "slug"), tenants.order_by("name", "slug")


def uses_of(*, providers: Iterable[Provider]) -> dict[int, ProviderUse]:
    """Return the use of each provider by its id; four queries."""
    ids = [provider.pk for provider in providers]
    counted = _answering().filter(answering__in=ids).order_by().values("answering")
    rows = counted.annotate(assistants=Count("pk"), tenants=Count("tenant", distinct=True))
    answering = {row["answering"]: (row["assistants"], row["tenants"]) for row in rows}
    defaults = _counts(Tenant.objects.all(), "default_provider", ids)
    of_tenants = _counts(Tenant.objects.all(), "fallback_provider", ids)
    of_assistants = _counts(Assistant.objects.all(), "fallback_provider", ids)
    return {
        pk: ProviderUse(
            *answering.get(pk, (0, 0)), defaults.get(pk, 0), of_tenants.get(pk, 0) + of_assistants.get(pk, 0)
        )
        for pk in ids
    }


def _counts(rows: QuerySet[Any], column: str, ids: list[int]) -> dict[int, int]:
    """Return how many rows refer to each of the providers with a column."""
    found = rows.filter(**{f"{column}__in": ids}).order_by().values_list(column)
    return dict(found.annotate(count=Count("pk")))


def _answering() -> QuerySet[Any]:
    """Return all assistants, with the id of the provider that they answer with."""
    own = Provider.objects.filter(tenant=OuterRef("tenant"), is_untested=False)
    oldest = own.order_by().values("tenant").annotate(first=Min("pk"))
    return Assistant.objects.annotate(
        answering=Coalesce(F("provider"), F("tenant__default_provider"), Subquery(oldest.values("first")))
    )
