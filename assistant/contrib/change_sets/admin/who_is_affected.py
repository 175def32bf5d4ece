"""Who a change set reaches: before it begins what would change for each tenant, afterwards what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from assistant.contrib.change_sets.admin.item_forms import prompts_of
from assistant.contrib.change_sets.admin.words import shown_now, shown_then
from assistant.contrib.change_sets.models import AppliedChange, ChangeSet
from assistant.contrib.change_sets.services.audience import MAX_TENANTS, tenants_of_set
from assistant.contrib.change_sets.services.figures import MEASURES, Figures, compare
from assistant.contrib.change_sets.services.items import PROMPT, Item
from assistant.contrib.change_sets.services.places import Place, places_of
from assistant.contrib.panel.services.text_difference import Difference, difference_of
from assistant.models import Conversation, Membership, PromptVersion, Tenant

# Tenants that the page names one by one.
NAMED_TENANTS = 60
# A conversation in which something was said since then is open.
OPEN_HOURS = 24


@dataclass(frozen=True, slots=True)
class Step:
    """One change for one tenant: what holds now, and then, "" for the same; or why it is left out."""

    now: str
    then: str
    problem: str


@dataclass(frozen=True, slots=True)
class AffectedTenant:
    """A tenant that a set reaches, with the changes in their order."""

    tenant: Tenant
    members: int
    conversations: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Affected:
    """Whom a set reaches: the first tenants one by one, and the sums over all of them."""

    named: tuple[AffectedTenant, ...]
    more: int
    tenants: int
    members: int
    conversations: int
    left_out: int


def affected_of(change_set: ChangeSet, items: Sequence[Item]) -> Affected:
    """Return whom a set reaches that has not begun; a few queries for each of its changes."""
    tenants = list(tenants_of_set(change_set)[:MAX_TENANTS])
    ids = [tenant.pk for tenant in tenants]
    members = _counted(Membership.objects.filter(tenant__in=ids).exclude(role=Membership.Role.END_USER))
    since = timezone.now() - timedelta(hours=OPEN_HOURS)
    talks = Conversation.objects.filter(
        tenant__in=ids, is_stateless=False, is_temporary=False, test_tools="", updated_at__gte=since
    )
    conversations = _counted(talks)
    columns = [places_of(item, tenants) for item in items]
    numbers = _numbers([place for column in columns for place in column])
    found = []
    for index, tenant in enumerate(tenants):
        steps = tuple(_step(column[index], numbers) for column in columns)
        found.append(AffectedTenant(tenant, members.get(tenant.pk, 0), conversations.get(tenant.pk, 0), steps))
    return Affected(
        tuple(found[:NAMED_TENANTS]),
        max(0, len(found) - NAMED_TENANTS),
        len(found),
        sum(members.values()),
        sum(conversations.values()),
        sum(bool(step.problem) for one in found for step in one.steps),
    )


def _counted(rows: Any) -> dict[int, int]:
    return dict(rows.order_by().values_list("tenant_id").annotate(count=Count("pk")))


def _numbers(places: Sequence[Place]) -> dict[int, int]:
    """Return the numbers of the published versions of prompts by their primary keys."""
    pks = [place.now for place in places if place.item.kind == PROMPT and place.now is not None]
    if not pks:
        return {}
    tenants = {place.tenant.pk for place in places}
    rows = PromptVersion.objects.filter(pk__in=pks, assistant__tenant__in=tenants)
    return dict(rows.values_list("pk", "number"))


def _step(place: Place, numbers: dict[int, int]) -> Step:
    if place.problem:
        return Step("", "", place.problem)
    now = shown_now(place, numbers)
    then = shown_then(place.item)
    return Step(now, "" if now == then else then, "")


def differences_of(change_set: ChangeSet, items: Sequence[Item]) -> dict[int, Difference]:
    """Return what the prompts of a set change, by the places of the changes: of the oldest tenant that has one."""
    slugs = {item.assistant for item in items if item.kind == PROMPT}
    if not slugs:
        return {}
    tenants = list(tenants_of_set(change_set).values_list("pk", flat=True)[:MAX_TENANTS])
    now = prompts_of(tenants, list(slugs))
    prompts = [(place, item) for place, item in enumerate(items) if item.kind == PROMPT and item.assistant in now]
    return {place: difference_of(now[item.assistant], item.value) for place, item in prompts}


@dataclass(frozen=True, slots=True)
class Applied:
    """What a set has changed: how much, for how many tenants, and what was left when it was taken back."""

    changes: int
    tenants: tuple[str, ...]
    more: int
    left: tuple[AppliedChange, ...]


def applied_of(change_set: ChangeSet) -> Applied:
    """Return what a set has changed that has begun; three queries."""
    rows = AppliedChange.objects.filter(change_set=change_set)
    tenants = Tenant.objects.filter(pk__in=rows.order_by().values("tenant")).order_by("name")
    names = list(tenants.values_list("name", flat=True))
    left = rows.filter(was_left=True).select_related("tenant", "assistant")
    return Applied(
        rows.count(), tuple(names[:NAMED_TENANTS]), max(0, len(names) - NAMED_TENANTS), tuple(left[:NAMED_TENANTS])
    )


_TITLES = {"failed": _("Failed"), "disliked": _("Disliked"), "stopped": _("Stopped")}


@dataclass(frozen=True, slots=True)
class ShownFigures:
    """How the answers with a set are, beside those without it: the numbers of answers, and a line for each measure.

    Attributes:
        lines: the title, the share with the set, the share without it, and whether it is worse.
    """

    inside: int
    outside: int
    lines: tuple[tuple[str, str, str, bool], ...]


def figures_of(change_set: ChangeSet) -> ShownFigures:
    """Return the figures of a set that has begun; three queries."""
    found = compare(change_set)
    worse = found.worse(points=change_set.watched_points)
    lines = tuple(
        (str(_TITLES[name]), _percent(found.inside, name), _percent(found.outside, name), name in worse)
        for name in MEASURES
    )
    return ShownFigures(found.inside.runs, found.outside.runs, lines)


def _percent(figures: Figures, name: str) -> str:
    return f"{figures.percent(name):.1f} %" if figures.runs else "—"
