"""What the runs of a list's rows cost, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet, Sum

from assistant.models import Tenant, UsageEntry


def cost_by(path: str, rows: Sequence[Any]) -> Mapping[Any, int]:
    """Return what each row has cost, in millionths, by its primary key; 0 for those that are not there.

    Args:
        path: the lookup from an entry of usage to the row, `run` or `run__conversation`.
    """
    tenants = {row.tenant_id for row in rows}
    entries = UsageEntry.objects.filter(tenant__in=tenants, **{f"{path}__in": [row.pk for row in rows]}).order_by()
    return dict(entries.values_list(path).annotate(Sum("cost")))


def cost_of_all(path: str, rows: QuerySet[Any], tenants: QuerySet[Tenant]) -> int:
    """Return what rows of some tenants have cost together, in millionths."""
    entries = UsageEntry.objects.filter(tenant__in=tenants, **{f"{path}__in": rows.values("pk")})
    return int(entries.aggregate(sum=Sum("cost"))["sum"] or 0)
