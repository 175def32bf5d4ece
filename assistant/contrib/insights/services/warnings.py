"""Tells a tenant that an assistant's answers have become worse than its own past: an event, an e-mail, *Needs you*.

A share of the last days is compared with that of the four weeks before. It is a warning if it is higher by a part that
matters, and by more than chance explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, Sum
from django.urls import NoReverseMatch, reverse

from assistant.contrib.insights.event_names import QUALITY_STEP
from assistant.contrib.insights.models import DaySum, QualityWarning
from assistant.contrib.insights.services import warning_mails
from assistant.contrib.insights.services.measures import BY_SLUG, MEASURES, Measure, is_step
from assistant.contrib.insights.services.warning_mails import DueMail
from assistant.services.tenancy import mail
from assistant.services.tenant_events import record_event

LAST_DAYS = 2
EARLIER_DAYS = 28
# A step in points of a share, and in standard deviations of chance.
LEAST_POINTS = 0.05
LEAST_DEVIATIONS = 3.3
# Nothing more is told of the same measure and assistant for so long.
QUIET = timedelta(days=7)
# The runs of two days that a warning needs.
LEAST_RUNS = 20
# As many runs of the weeks before as `LEAST_RUNS`, times this.
EARLIER_RUNS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """A measure of an assistant that has become worse: the runs of the last days, and both shares."""

    assistant_id: int
    measure: Measure
    runs: int
    share: float
    earlier_share: float


def record_warnings(*, tenant_id: int, now: datetime) -> int:
    """Store the steps of a tenant that are new, with their events; return how many."""
    if not settings.ASSISTANT_QUALITY_WARNINGS:
        return 0
    found = steps(tenant_id=tenant_id, now=now)
    if not found:
        return 0
    recent = QualityWarning.objects.filter(tenant_id=tenant_id, created_at__gt=now - QUIET)
    told = set(recent.values_list("assistant_id", "measure"))
    new = [step for step in found if (step.assistant_id, step.measure.slug) not in told]
    return sum(_record(tenant_id, step, now) for step in new)


def steps(*, tenant_id: int, now: datetime) -> list[Step]:
    """Return what has become worse, in one query of the sums."""
    today = now.astimezone(UTC).date()
    begin = today - timedelta(days=LAST_DAYS - 1)
    warned = [measure for measure in MEASURES if measure.is_warned]
    rows = DaySum.objects.filter(
        tenant_id=tenant_id, tool="", day__gte=begin - timedelta(days=EARLIER_DAYS), assistant__is_active=True
    )
    is_last = Q(day__gte=begin)
    names = ["runs", *(measure.of for measure in warned)]
    sums = (
        rows.order_by()
        .values("assistant_id")
        .annotate(
            **{f"last_{name}": Sum(name, filter=is_last, default=0) for name in names},
            **{f"earlier_{name}": Sum(name, filter=~is_last, default=0) for name in names},
        )
    )
    return [step for row in sums for measure in warned if (step := _step(row, measure)) is not None]


def _step(row: Mapping[str, Any], measure: Measure) -> Step | None:
    runs = row["last_runs"]
    earlier_runs = row["earlier_runs"]
    if runs < LEAST_RUNS or earlier_runs < EARLIER_RUNS * LEAST_RUNS:
        return None
    bad = row[f"last_{measure.of}"]
    earlier_bad = row[f"earlier_{measure.of}"]
    share = bad / runs
    earlier_share = earlier_bad / earlier_runs
    if not is_step(bad, runs, earlier_bad, earlier_runs, points=LEAST_POINTS, deviations=LEAST_DEVIATIONS):
        return None
    return Step(row["assistant_id"], measure, runs, share, earlier_share)


def _record(tenant_id: int, step: Step, now: datetime) -> bool:
    day = now.astimezone(UTC).date()
    shares = {"share": round(step.share * 1_000), "earlier_share": round(step.earlier_share * 1_000)}
    try:
        with transaction.atomic():
            warning = QualityWarning.objects.create(
                tenant_id=tenant_id,
                assistant_id=step.assistant_id,
                measure=step.measure.slug,
                day=day,
                runs=step.runs,
                mail_due_at=now if mail.is_mail_configured() else None,
                **shares,
            )
            record_event(
                tenant_id=tenant_id,
                event=QUALITY_STEP,
                data={"assistant": warning.assistant.slug, "measure": step.measure.slug, "runs": step.runs, **shares},
                event_key=f"{step.assistant_id} {step.measure.slug} {day}",
            )
    except IntegrityError:
        return False
    return True


async def send_warnings(*, now: datetime | None = None) -> None:
    """Send the e-mails that are due, in a thread that uses no database connection."""
    await warning_mails.send_mails(claim_mails, now=now or datetime.now(UTC))


def claim_mails(*, now: datetime) -> list[DueMail]:
    """Claim the e-mails that are due; no two processes claim the same."""
    warnings = QualityWarning.objects.select_related("tenant", "assistant")
    return warning_mails.claim_mails(warnings, template="quality_warning", context=_context, now=now)


def _context(warning: QualityWarning) -> Mapping[str, Any]:
    return {
        "tenant": warning.tenant.name,
        "assistant": warning.assistant.name,
        "measure": BY_SLUG[warning.measure].name,
        "runs": warning.runs,
        "share": warning.share / 10,
        "earlier_share": warning.earlier_share / 10,
        "page": _page_of(warning),
    }


def _page_of(warning: QualityWarning) -> str:
    """Return the whole address of the page that names what changed; "" if the site's is not known, or has no panel."""
    if not settings.ASSISTANT_PUBLIC_URL:
        return ""
    try:
        path = reverse("admin:what_changed")
    except NoReverseMatch:
        return ""
    return f"{settings.ASSISTANT_PUBLIC_URL.rstrip('/')}{path}?assistant={warning.assistant_id}"
