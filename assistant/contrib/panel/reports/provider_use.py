"""How many assistants and tenants use a provider."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from assistant.models import Assistant, Provider, Tenant
from assistant.services.assistants.provider_use import answering_assistants


@dataclass(frozen=True, slots=True)
class ProviderUse:
    """How many assistants answer with a provider, of how many tenants, and how many tenants have it as default.

    `fallbacks` counts the assistants and tenants for which it takes over when another one cannot answer.
    """

    assistants: int = 0
    tenants: int = 0
    defaults: int = 0
    fallbacks: int = 0


def uses_of(*, providers: Iterable[Provider]) -> dict[int, ProviderUse]:
    """Return the use of each provider by its id; four queries."""
    ids = [provider.pk for provider in providers]
    counted = answering_assistants().filter(answering__in=ids).order_by().values("answering")
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
