"""What became of the versions of a prompt: when each was published, and how its runs went."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from assistant.contrib.panel.reports.days import FAILED
from assistant.models import Assistant, AuditEntry, Feedback, PromptVersion, Run

DAYS = 90
# Publications of the versions of a page, the newest: a version that is published again keeps the times before.
MAX_PUBLICATIONS = 200


@dataclass(frozen=True, slots=True)
class VersionFigures:
    """A version's runs of the last `DAYS` days, how many failed, and the ratings of their answers.

    Attributes:
        published: when it was published, the first time first, as the audit has it.
    """

    published: tuple[datetime, ...] = ()
    runs: int = 0
    failed: int = 0
    liked: int = 0
    disliked: int = 0

    @property
    def failed_share(self) -> float:
        return 100 * self.failed / self.runs if self.runs else 0.0


def figures_of(*, assistant: Assistant, versions: Collection[PromptVersion]) -> dict[int, VersionFigures]:
    """Return the figures of versions by their ids; three queries."""
    ids = [version.pk for version in versions]
    since = timezone.now() - timedelta(days=DAYS)
    tenant = assistant.tenant_id
    ran = Run.objects.filter(tenant=tenant, prompt_version__in=ids, is_test=False, started_at__gte=since)
    runs: Any = ran.order_by().values("prompt_version").annotate(all=Count("pk"), bad=Count("pk", Q(status__in=FAILED)))
    rated = Feedback.objects.filter(tenant=tenant, message__run__in=ran.values("pk"))
    ratings: Any = rated.order_by().values("message__run__prompt_version", "rating").annotate(count=Count("pk"))
    by_version = {row["prompt_version"]: row for row in runs}
    counts = {(row["message__run__prompt_version"], row["rating"]): row["count"] for row in ratings}
    published = _publications(assistant, versions)
    return {
        version.pk: VersionFigures(
            published=tuple(published.get(version.number, ())),
            runs=by_version.get(version.pk, {}).get("all", 0),
            failed=by_version.get(version.pk, {}).get("bad", 0),
            liked=counts.get((version.pk, Feedback.Rating.UP), 0),
            disliked=counts.get((version.pk, Feedback.Rating.DOWN), 0),
        )
        for version in versions
    }


def _publications(assistant: Assistant, versions: Collection[PromptVersion]) -> dict[int, list[datetime]]:
    """Return the times of publications by the numbers of versions, the first one first."""
    numbers = {f"{assistant.slug} v{version.number}": version.number for version in versions}
    rows = AuditEntry.objects.filter(tenant=assistant.tenant_id, action="prompt.publish", target__in=list(numbers))
    found: dict[int, list[datetime]] = {}
    for target, at in rows.order_by("-created_at").values_list("target", "created_at")[:MAX_PUBLICATIONS]:
        found.setdefault(numbers[target], []).insert(0, at)
    return found
