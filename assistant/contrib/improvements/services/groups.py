"""Groups as the desk lists them, what people decide about each, and the draft that is written against one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from assistant.contrib.improvements.models import ProblemCase, ProblemGroup
from assistant.models import PromptVersion
from assistant.services.assistants.prompts import draft_prompt, text_to_edit
from assistant.services.tenancy import audit_trail

# A group is shown from so many cases in so many conversations of the last days on.
DAYS = 28
LEAST_CASES = 3
LEAST_CONVERSATIONS = 2
# Groups of a list, cases of a group's page, and its runs that are asked again.
LISTED = 100
SHOWN_CASES = 50
ASKED_AGAIN = 20
# Of the line that is added to a prompt.
MAX_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Line:
    """A group as a list shows it: its cases of the last days, of as many before, and in how many conversations."""

    group: ProblemGroup
    cases: int
    earlier: int
    conversations: int
    last_at: datetime


def lines_of(rows: QuerySet[ProblemGroup], *, now: datetime, state: str = "", signature: str = "") -> list[Line]:
    """Return the groups that are large enough, those with the most cases first, at most `LISTED`; one query.

    Args:
        rows: those of the tenants, or the assistant, that the list is about.
        state: a `ProblemGroup.State`; "" for all.
    """
    since = now - timedelta(days=DAYS)
    is_now = Q(cases__at__gte=since)
    counted = rows.annotate(
        number=Count("cases", filter=is_now),
        earlier=Count("cases", filter=Q(cases__at__gte=since - timedelta(days=DAYS), cases__at__lt=since)),
        conversations=Count("cases__run__conversation", filter=is_now, distinct=True),
        last_at=Max("cases__at"),
    )
    is_large = Q(number__gte=LEAST_CASES, conversations__gte=LEAST_CONVERSATIONS)
    counted = counted.filter(is_large | Q(state=ProblemGroup.State.CHANGED), last_at__isnull=False)
    if state:
        counted = counted.filter(state=state)
    if signature:
        counted = counted.filter(signature=signature)
    found = counted.select_related("assistant__tenant", "tenant", "draft").order_by("-number", "-last_at", "pk")
    return [Line(one, one.number, one.earlier, one.conversations, one.last_at) for one in found[:LISTED]]


def newest_questions(groups: Collection[ProblemGroup], readable: Q) -> dict[int, str]:
    """Return of each group the newest question that may be read; one query."""
    rows = ProblemCase.objects.filter(
        readable, group__in=[group.pk for group in groups], tenant__in={group.tenant_id for group in groups}
    ).exclude(question="")
    newest = rows.order_by().values("group").annotate(newest=Max("pk")).values("newest")
    chosen = ProblemCase.objects.filter(pk__in=newest, tenant__in={group.tenant_id for group in groups})
    return dict(chosen.values_list("group_id", "question"))


def cases_of(group: ProblemGroup) -> QuerySet[ProblemCase]:
    """Return the cases of a group, the newest first."""
    rows = ProblemCase.objects.filter(group=group, tenant=group.tenant_id).order_by("-at", "-pk")
    return rows.select_related("run__conversation__tenant", "run__conversation__user")


def days_of(group: ProblemGroup, *, last: date) -> list[tuple[date, int]]:
    """Return the cases of each of the last days (UTC); one query."""
    first = last - timedelta(days=DAYS - 1)
    rows = ProblemCase.objects.filter(group=group, tenant=group.tenant_id, at__date__gte=first)
    counts = dict(rows.order_by().annotate(day=TruncDate("at")).values_list("day").annotate(number=Count("pk")))
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return [(day, counts.get(day, 0)) for day in days]


def extent_of(group: ProblemGroup) -> dict[str, int | datetime | None]:
    """Return how many cases, conversations and people a group has, and when the first and the last was."""
    rows = ProblemCase.objects.filter(group=group, tenant=group.tenant_id)
    return rows.aggregate(
        cases=Count("pk"),
        conversations=Count("run__conversation", distinct=True),
        people=Count("run__user", distinct=True),
        first=Min("at"),
        last=Max("at"),
    )


@transaction.atomic
def set_state(*, group: ProblemGroup, state: str, actor: audit_trail.Actor) -> None:
    """Store what somebody has decided: that something was changed about it, that it is left, or that it is open again.

    Marked as changed, the days before and since are compared from now on.
    """
    before = group.state
    is_changed = state == ProblemGroup.State.CHANGED
    group.state = state
    group.changed_at = timezone.now() if is_changed else None
    group.changed_by_id = actor.pk if is_changed and actor is not None else None
    group.draft = group.draft if is_changed else None
    group.save(update_fields=["state", "changed_at", "changed_by", "draft"])
    _record(group, "problemgroup.set", actor, {"values": {"state": [before, state]}})


@transaction.atomic
def draft_against(*, group: ProblemGroup, line: str, actor: audit_trail.Actor) -> PromptVersion:
    """Draft the published prompt with a line more, and remember it: once it is published the group counts as changed.

    Raises:
        UnknownVariables: the line names variables that the tenant does not have.
    """
    versions = PromptVersion.objects.filter(assistant=group.assistant, assistant__tenant=group.tenant_id)
    published = versions.filter(status=PromptVersion.Status.PUBLISHED).first()
    text = line if published is None else f"{text_to_edit(published).rstrip()}\n\n{line}"
    note = f"{group.get_signature_display()} {group.subject}".strip()
    version = draft_prompt(assistant=group.assistant, text=text, note=note, actor=actor)
    group.draft = version
    group.save(update_fields=["draft"])
    _record(group, "problemgroup.draft", actor, {"version": version.number})
    return version


def _record(group: ProblemGroup, action: str, actor: audit_trail.Actor, details: dict[str, object]) -> None:
    audit_trail.record(
        actor=actor, action=action, target=f"{group.assistant.slug}: {group}", tenant=group.tenant, details=details
    )
