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
    """How many assistants answer with a provider, of how many tenants, and how many tenants have it as default."""

    assistants: int = 0
    tenants: int = 0
    defaults: int = 0


def assistants_of(*, provider: Provider) -> QuerySet[Assistant]:
    """Return the assistants that answer with a provider, with their tenants, by `choose_provider`'s order of layers.

    They have it themselves; or have none and their tenant has it as its default; or neither has one and it is the
    tenant's oldest.
    """
    found = _answering().filter(answering=provider.pk)
    return found.select_related("tenant").order_by("tenant__name", "name", "slug")


def tenants_of(*, provider: Provider) -> QuerySet[Tenant]:
    """Return the tenants that have a provider as their default, by name."""
    return Tenant.objects.filter(default_provider=provider).order_by("name", "slug")


def uses_of(*, providers: Iterable[Provider]) -> dict[int, ProviderUse]:
    """Return the use of each provider by its id; two queries."""
    ids = [provider.pk for provider in providers]
    counted = _answering().filter(answering__in=ids).order_by().values("answering")
    rows = counted.annotate(assistants=Count("pk"), tenants=Count("tenant", distinct=True))
    answering = {row["answering"]: (row["assistants"], row["tenants"]) for row in rows}
    defaults = dict(
        Tenant.objects.filter(default_provider__in=ids)
        .order_by()
        .values_list("default_provider")
        .annotate(count=Count("pk"))
    )
    return {pk: ProviderUse(*answering.get(pk, (0, 0)), defaults.get(pk, 0)) for pk in ids}


def _answering() -> QuerySet[Any]:
    """Return all assistants, with the id of the provider that they answer with."""
    oldest = Provider.objects.filter(tenant=OuterRef("tenant")).order_by().values("tenant").annotate(first=Min("pk"))
    return Assistant.objects.annotate(
        answering=Coalesce(F("provider"), F("tenant__default_provider"), Subquery(oldest.values("first")))
    )
