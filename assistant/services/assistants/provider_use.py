"""Finds the assistants whose answers come from a provider, before it is deleted."""

from __future__ import annotations

from django.db.models import Min, OuterRef, Q, QuerySet, Subquery

from assistant.models import Assistant, Provider


def assistants_of(*, provider: Provider) -> QuerySet[Assistant]:
    """Return the assistants that answer with a provider, with their tenants, by `choose_provider`'s order of layers.

    They have it themselves; or have none and their tenant has it as its default; or neither has one and it is the
    tenant's oldest.
    """
    oldest = Provider.objects.filter(tenant=OuterRef("tenant")).order_by().values("tenant").annotate(first=Min("pk"))
    rows = Assistant.objects.annotate(oldest_provider=Subquery(oldest.values("first")))
    by_default = Q(provider=None, tenant__default_provider=provider)
    as_oldest = Q(provider=None, tenant__default_provider=None, oldest_provider=provider.pk)
    found = rows.filter(Q(provider=provider) | by_default | as_oldest)
    return found.select_related("tenant").order_by("tenant__name", "name", "slug")
