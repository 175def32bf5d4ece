"""What an API key was used for lately, for the person who replaces a leaked key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count
from django.utils import timezone

from assistant.models import ApiKey, Run

DAYS, LISTED = 30, 20


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Runs that a key started in the last `DAYS`: how many, with which assistants how often, and the latest ones."""

    runs: int
    assistants: tuple[tuple[str, int], ...]
    latest: tuple[Run, ...]


def use_of_key(*, key: ApiKey) -> KeyUse:
    """Return the use of a key; four queries. Calls of tools outside of runs are not recorded by key."""
    since = timezone.now() - timedelta(days=DAYS)
    runs = Run.objects.filter(tenant_id=key.tenant_id, api_key=key, started_at__gte=since)
    columns = ("started_at", "status", "input_tokens", "output_tokens", "assistant__slug")
    counts: Counter[str] = Counter()
    latest: list[Run] = []
    # Each of the two has an index.
    for part in (runs.filter(ended_at=None), runs.filter(ended_at__isnull=False)):
        counts.update(dict(part.order_by().values_list("assistant__slug").annotate(count=Count("pk"))))
        latest += part.select_related("assistant").only(*columns).order_by("-started_at")[:LISTED]
    latest.sort(key=lambda run: run.started_at, reverse=True)
    return KeyUse(counts.total(), tuple(counts.most_common(LISTED)), tuple(latest[:LISTED]))
