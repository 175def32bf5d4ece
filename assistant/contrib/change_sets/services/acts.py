"""What people do with change sets: submit, approve, withdraw, widen and take back. Each act is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.change_sets.models import EVERYTHING, AppliedChange, ChangeSet
from assistant.contrib.change_sets.services.audience import reached
from assistant.contrib.change_sets.services.items import PROMPT, ChangeSetRefused, Item, check_items, read_items
from assistant.contrib.change_sets.services.places import (
    Actor,
    draft_versions,
    make_changes,
    places_of,
    publish_versions,
    put_back,
)
from assistant.contrib.panel.services.audit_acts import mark_act
from assistant.models import AuditEntry, Tenant
from assistant.services.db.clock import database_time
from assistant.services.tenancy import audit_trail
from assistant.services.toolpolicy.blocks import MAX_DURATION, check_end

State = ChangeSet.State


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What taking a set back has done: the changes that are as before, and those that were left."""

    restored: tuple[AppliedChange, ...]
    left: tuple[AppliedChange, ...]


@transaction.atomic
def submit(*, change_set: ChangeSet, actor: Actor) -> ChangeSet:
    """Begin a draft at its moment, or, where two people are needed, have it wait for the second.

    Raises:
        ChangeSetRefused: it is no draft, has no changes or reaches nobody, or its moments are not valid.
    """
    row = _locked(change_set, State.DRAFT)
    _check(row)
    row.submitted_by_id = actor.pk if actor is not None else None
    if settings.ASSISTANT_CHANGE_SETS_BY_TWO:
        return _moved(row, State.WAITING, actor, "submit")
    return _begun_at_its_moment(row, actor, "submit")


@transaction.atomic
def approve(*, change_set: ChangeSet, actor: Actor) -> ChangeSet:
    """Begin a set that waits for a second person.

    Raises:
        ChangeSetRefused: it does not wait, or the actor has submitted it.
    """
    row = _locked(change_set, State.WAITING)
    if actor is None or actor.pk in (row.submitted_by_id, row.created_by_id):
        raise ChangeSetRefused(_("Somebody else approves it: you have written or submitted it."))
    _check(row)
    row.approved_by_id = actor.pk
    return _begun_at_its_moment(row, actor, "approve")


@transaction.atomic
def withdraw(*, change_set: ChangeSet, actor: Actor) -> ChangeSet:
    """Make a set that waits or is planned a draft again. Raises `ChangeSetRefused` for any other."""
    row = _locked(change_set, State.WAITING, State.PLANNED)
    row.approved_by_id = None
    return _moved(row, State.DRAFT, actor, "withdraw")


@transaction.atomic
def add_item(*, change_set: ChangeSet, item: Item, actor: Actor) -> ChangeSet:
    """Add a change to a draft. Raises `ChangeSetRefused` if it is no draft, or the changes do not go together."""
    row = _locked(change_set, State.DRAFT)
    items = [*read_items(row), item]
    check_items(items, percent=row.percent)
    return _with_items(row, items, actor)


@transaction.atomic
def remove_item(*, change_set: ChangeSet, place: int, actor: Actor) -> ChangeSet:
    """Take a change out of a draft by its place. Raises `ChangeSetRefused` if it is no draft, or has no such change."""
    row = _locked(change_set, State.DRAFT)
    items = read_items(row)
    if not 0 <= place < len(items):
        raise ChangeSetRefused(_("There is no such change."))
    return _with_items(row, [*items[:place], *items[place + 1 :]], actor)


@transaction.atomic
def widen(*, change_set: ChangeSet, percent: int, actor: Actor) -> ChangeSet:
    """Give a set that is on to a larger share of the conversations; with 100 to all, in the tenants' own rows.

    Raises:
        ChangeSetRefused: it is not on, or the share is not larger.
    """
    row = _locked(change_set, State.ON)
    if not row.percent < percent <= EVERYTHING:
        raise ChangeSetRefused(_("Choose a larger share than %(percent)d %%.") % {"percent": row.percent})
    before = row.percent
    since = _newest_entry()
    changes = AppliedChange.objects.filter(change_set=row, is_in_force=True)
    if percent == EVERYTHING:
        try:
            _apply_shares(row, list(changes.select_related("tenant", "assistant__tenant")), actor)
        except ValueError as exc:
            raise ChangeSetRefused(str(exc)) from exc
    changes.update(percent=percent)
    row.percent = percent
    row.save(update_fields=["percent"])
    lead = _record(row, actor, "widen", {"values": {"percent": [str(before), str(percent)]}})
    _as_one_act(row, actor, lead, since)
    return row


@transaction.atomic
def take_back(*, change_set: ChangeSet, actor: Actor, why: str = "") -> TakenBack:
    """Set everything that a set has changed back to what it was before, but for what was changed since.

    Args:
        actor: None if it ends by itself.
        why: it ends by itself, for people.

    Raises:
        ChangeSetRefused: it is not on.
    """
    row = _locked(change_set, State.ON)
    changes = AppliedChange.objects.filter(change_set=row, is_in_force=True)
    since = _newest_entry()
    restored: list[AppliedChange] = []
    left: list[AppliedChange] = []
    for change in changes.select_related("tenant", "assistant__tenant").order_by("-pk"):
        (restored if _restored(change, actor) else left).append(change)
    now = timezone.now()
    ended = {"is_in_force": False, "ended_at": now}
    changes.filter(pk__in=[change.pk for change in left]).update(was_left=True, **ended)
    changes.update(**ended)
    row.ended_at = now
    row.note = why[:200]
    row.save(update_fields=["ended_at", "note"])
    details: dict[str, Any] = {"left": [str(change) for change in left]} if left else {}
    _moved(row, State.ENDED, actor, "take_back", since=since, **details, **({"why": why} if why else {}))
    return TakenBack(tuple(restored), tuple(left))


def begin(*, change_set: ChangeSet, actor: Actor) -> ChangeSet:
    """Make the changes of a set whose row is locked. Places with a problem are left out.

    Raises:
        ChangeSetRefused: no change can be made anywhere, or one is refused.
    """
    tenants = reached(change_set)
    since = _newest_entry()
    try:
        made = [change for item in read_items(change_set) for change in _made(change_set, item, tenants, actor)]
    except ChangeSetRefused:
        raise
    except ValueError as exc:
        raise ChangeSetRefused(str(exc)) from exc
    if not made:
        raise ChangeSetRefused(_("None of the tenants can have any of the changes."))
    AppliedChange.objects.bulk_create(made)
    change_set.began_at = timezone.now()
    change_set.note = ""
    change_set.save(update_fields=["began_at", "note"])
    return _moved(change_set, State.ON, actor, "begin", since=since, tenants=len({one.tenant_id for one in made}))


def _made(change_set: ChangeSet, item: Item, tenants: Sequence[Tenant], actor: Actor) -> list[AppliedChange]:
    places = [place for place in places_of(item, tenants) if not place.problem]
    if change_set.percent < EVERYTHING:
        after: Sequence[Any] = [item.value for _place in places]
        if item.kind == PROMPT:
            after = [version.pk for version in draft_versions(change_set, item, places, actor=actor)]
    else:
        after = make_changes(change_set, item, places, actor=actor)
    return [
        AppliedChange(
            tenant=place.tenant,
            change_set=change_set,
            assistant=place.assistant,
            kind=item.kind,
            name=item.name,
            before=place.now,
            after=value,
            percent=change_set.percent,
        )
        for place, value in zip(places, after, strict=True)
    ]


def _apply_shares(row: ChangeSet, changes: Sequence[AppliedChange], actor: Actor) -> None:
    """Make the changes that a share had in the tenants' own rows, as they are now."""
    for item in read_items(row):
        own = {one.tenant_id: one for one in changes if (one.kind, _slug(one), one.name) == item.key}
        places = [place for place in places_of(item, [one.tenant for one in own.values()]) if not place.problem]
        if item.kind == PROMPT:
            after = publish_versions([own[place.tenant.pk].after for place in places], places, actor=actor)
        else:
            after = make_changes(row, item, places, actor=actor)
        for place, value in zip(places, after, strict=True):
            change = own[place.tenant.pk]
            change.before = place.now
            change.after = value
            change.save(update_fields=["before", "after"])


def _slug(change: AppliedChange) -> str:
    return "" if change.assistant is None else change.assistant.slug


def _restored(change: AppliedChange, actor: Actor) -> bool:
    """Set one change back; return False if somebody has changed it since, or what was before is gone."""
    if change.percent < EVERYTHING:
        return True
    item = Item(change.kind, _slug(change), change.name, "")
    (place,) = places_of(item, [change.tenant])
    return place.now == change.after and put_back(place, change.before, actor=actor)


def _check(row: ChangeSet) -> None:
    check_items(read_items(row), percent=row.percent)
    reached(row)
    now = database_time()
    if row.starts_at is not None and row.starts_at > now + MAX_DURATION:
        raise ChangeSetRefused(_("It begins within a year."))
    if row.starts_at is not None and row.ends_at is not None and row.ends_at <= row.starts_at:
        raise ChangeSetRefused(_("It ends after it has begun."))
    try:
        check_end(row.ends_at)
    except ValueError as exc:
        raise ChangeSetRefused(_("The end must be in the future, within a year.")) from exc


def _begun_at_its_moment(row: ChangeSet, actor: Actor, verb: str) -> ChangeSet:
    if row.starts_at is not None and row.starts_at > database_time():
        return _moved(row, State.PLANNED, actor, verb)
    return begin(change_set=row, actor=actor)


def _locked(change_set: ChangeSet, *states: str) -> ChangeSet:
    """Return the row, locked until the transaction ends. Raises `ChangeSetRefused` unless it is in such a state."""
    rows = ChangeSet.objects.select_for_update(of=("self",)).select_related("tenant")
    row = rows.filter(pk=change_set.pk).first()
    if row is None or row.state not in states:
        raise ChangeSetRefused(_("Somebody else was faster: the set is in another state now."))
    return row


def _with_items(row: ChangeSet, items: Sequence[Item], actor: Actor) -> ChangeSet:
    before = len(row.items)
    row.items = [item.stored() for item in items]
    row.save(update_fields=["items"])
    _record(row, actor, "edit", {"values": {"items": [str(before), str(len(items))]}})
    return row


def _moved(
    row: ChangeSet, state: str, actor: Actor, verb: str, *, since: int | None = None, **details: Any
) -> ChangeSet:
    """Move a set to another state, and record it.

    Args:
        since: the newest entry of the audit before the act, if the act has recorded more than this.
    """
    before = row.state
    row.state = state
    row.save(update_fields=["state", "submitted_by", "approved_by"])
    lead = _record(row, actor, verb, {"values": {"state": [before, state]}, **details})
    if since is not None:
        _as_one_act(row, actor, lead, since)
    return row


def _newest_entry() -> int:
    """Return the number of the newest entry of the audit of all tenants; what an act records comes after it."""
    return AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _as_one_act(row: ChangeSet, actor: Actor, lead: AuditEntry, since: int) -> None:
    """Have lists of the audit show the entry of the set for all that the act has recorded in the tenants.

    Only this transaction sees what it has recorded, besides what the same person does in the same moment elsewhere.
    """
    tenants = row.applied.order_by().values("tenant")
    recorded = AuditEntry.objects.filter(
        pk__gt=since, tenant__in=tenants, actor_id=actor.pk if actor is not None else None
    )
    mark_act(list(recorded.order_by("pk")), lead=lead, act=f"{row.pk}.{lead.pk}")


def _record(row: ChangeSet, actor: Actor, verb: str, details: dict[str, Any]) -> AuditEntry:
    return audit_trail.record(
        actor=actor,
        action=f"changeset.{verb}",
        target=row.name,
        tenant=row.tenant,
        details={"change_set": row.pk, **details},
    )
