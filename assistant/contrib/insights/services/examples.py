"""The runs that show what became worse: a few of its newest, in conversations of their own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta

from django.db.models import Exists, OuterRef, Q

from assistant.contrib.insights.services.day_sums import FAILED_CALLS, FAILED_RUNS, NOTHING_FOUND, SEARCH
from assistant.contrib.insights.services.findings import Finding
from assistant.contrib.insights.services.suspects import Suspect
from assistant.models import Feedback, Message, Run, ToolCall

SHOWN = 10
# Of the runs since the step the newest so many are looked at, so that the work has a bound.
LOOKED_AT = 2_000


def runs_that_show(finding: Finding, *, tenant_id: int, suspect: Suspect | None = None) -> list[Run]:
    """Return the newest runs that show a finding, each of another conversation, at most `SHOWN`; one query.

    Args:
        suspect: where it is a prompt version, only runs with that.
    """
    begin = datetime.combine(finding.day, time.min, UTC)
    end = datetime.combine(finding.last + timedelta(days=1), time.min, UTC)
    since = Run.objects.filter(
        tenant_id=tenant_id,
        assistant__in=finding.assistants,
        is_test=False,
        conversation__is_stateless=False,
        conversation__is_temporary=False,
        started_at__gte=begin,
        started_at__lt=end,
    ).order_by("-started_at")
    newest = since.values("pk")[:LOOKED_AT]
    rows = since.filter(_shows(finding.measure.slug), tenant_id=tenant_id, pk__in=newest)
    number = _prompt_of(suspect)
    if number is not None:
        rows = rows.filter(prompt_version__number=number)
    rows = rows.select_related("conversation__tenant", "conversation__user", "conversation__assistant")
    found: dict[object, Run] = {}
    for run in rows[: SHOWN * 3]:
        found.setdefault(run.conversation_id, run)
    return list(found.values())[:SHOWN]


def _prompt_of(suspect: Suspect | None) -> int | None:
    if suspect is None or suspect.kind != "prompt" or suspect.entry is None:
        return None
    number = suspect.entry.target.rpartition(" v")[2]
    return int(number) if number.isdigit() else None


def _shows(measure: str) -> Exists | Q:
    """Return the condition of runs that count as bad; a branch is one of the whole conversation."""
    calls = ToolCall.objects.filter(run=OuterRef("pk"), tenant=OuterRef("tenant"))
    cut = Message.objects.filter(run=OuterRef("pk"), conversation__tenant=OuterRef("tenant"), is_partial=True)
    disliked = Exists(
        Feedback.objects.filter(message__run=OuterRef("pk"), tenant=OuterRef("tenant"), rating=Feedback.Rating.DOWN)
    )
    has_branches = ~Q(conversation__branches=[])
    stopped = Q(status=Run.Status.CANCELLED)
    conditions: Mapping[str, Exists | Q] = {
        "disliked": disliked,
        "failed": Q(status__in=FAILED_RUNS),
        "asked-again": has_branches,
        "edited": has_branches,
        "stopped": stopped,
        "cut": Exists(cut.exclude(cut_reason="")),
        "refused": Exists(calls.filter(status=ToolCall.Status.REFUSED)),
        "nothing-found": Exists(calls.filter(name=SEARCH, result__contains=NOTHING_FOUND)),
        "failed-calls": Exists(calls.filter(status__in=FAILED_CALLS)),
        "disliked-searching": disliked & Exists(calls.filter(name=SEARCH)),
        "unhappy": disliked | stopped | has_branches,
    }
    return conditions[measure]
