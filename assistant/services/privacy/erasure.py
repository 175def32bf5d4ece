"""Deletes a tenant or a user completely: rows, files, sessions, event logs, and their names in others' records.

In batches, each a transaction of its own, and the tenant or user last: after an interruption the same command goes on.
What stays is one audit entry with the number of rows of each kind, and no name.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q

from assistant.models import AuditEntry, Conversation, EndUser, Membership, Tenant
from assistant.services.eventlog.configured import configured_log
from assistant.services.knowledge.full_text import forget_deleted
from assistant.services.privacy.ownership import belongings, people_of, rows_of
from assistant.services.runs.cancelling import cancel_runs_and_wait
from assistant.services.tenancy import audit_trail

BATCH = 500
# A shorter name would be found within other words.
SHORTEST_NAME = 3


def count_tenant(tenant: Tenant) -> dict[str, int]:
    """How many rows of each kind `erase_tenant` would delete."""
    user, people = get_user_model(), list(people_of(tenant).values_list("pk", flat=True))
    counts = Counter({Tenant._meta.label: 1, user._meta.label: len(people)})
    for model in {**belongings(Tenant), **belongings(user)}:
        going = Q(pk__in=[])
        for root, pks in ((Tenant, [tenant.pk]), (user, people)):
            if model in belongings(root):
                going |= Q(pk__in=rows_of(model, root, pks).values("pk"))
        counts[model._meta.label] += model._base_manager.filter(going).count()
    return dict(+counts)


def count_user(user: AbstractBaseUser) -> dict[str, int]:
    """How many rows of each kind `erase_user` would delete."""
    root = type(user)
    counts = Counter({model._meta.label: rows_of(model, root, [user.pk]).count() for model in belongings(root)})
    counts[root._meta.label] += 1
    return dict(+counts)


def erase_tenant(*, tenant: Tenant, actor: AbstractBaseUser | None) -> dict[str, int]:
    """Delete a tenant, all that belongs to it, and the people who were here for it alone; how many rows of each kind.

    It is suspended first, and its runs are ended, so that nothing new comes while it goes.
    """
    pk = tenant.pk
    Tenant.objects.filter(pk=pk).update(is_active=False)
    cancel_runs_and_wait(tenant_id=pk)
    people = list(people_of(tenant))
    threads = _forget_threads(tenant_id=pk)
    counts: Counter[str] = Counter()
    for person in people:
        counts += _erase_person(person)
    counts += _erase(Tenant, pk)
    with transaction.atomic():
        counts += _delete(Tenant, [pk])
        _forget_orphans([*belongings(Tenant), Tenant])
        forget_deleted()
        audit_trail.record(actor=actor, action="tenant.erase", target=f"tenant {pk}", details={"rows": dict(counts)})
    # A process that could not be waited for may have written since.
    configured_log().forget(threads)
    return dict(counts)


def erase_user(*, user: AbstractBaseUser, actor: AbstractBaseUser | None) -> dict[str, int]:
    """Delete a user, and all that belongs to them, in every tenant; how many rows of each kind."""
    pk = user.pk
    counts = _erase_person(user)
    audit_trail.record(actor=actor, action="user.erase", target=f"user {pk}", details={"rows": dict(counts)})
    return dict(counts)


def _erase_person(user: Any) -> Counter[str]:
    model, pk = type(user), user.pk
    # Nobody comes in as them while they go.
    model._base_manager.filter(pk=pk).update(is_active=False)
    cancel_runs_and_wait(user_id=pk)
    threads = _forget_threads(user_id=pk)
    _forget_sessions(str(pk))
    _forget_names(_names_of(user), f"user {pk}")
    # Their places say whose they are, should this be interrupted: these go with the user.
    counts = _erase(model, pk, but=Membership) + _delete(model, [pk])
    configured_log().forget(threads)
    return counts


def _erase(root: type[models.Model], pk: Any, *, but: type[models.Model] | None = None) -> Counter[str]:
    counts: Counter[str] = Counter()
    for model in belongings(root):
        if model is not but:
            while batch := list(rows_of(model, root, [pk]).order_by("pk").values_list("pk", flat=True)[:BATCH]):
                counts += _delete(model, batch)
    return counts


@transaction.atomic
def _delete(model: type[models.Model], pks: Sequence[Any]) -> Counter[str]:
    """Delete rows, what hangs on them, and the lines of Django's admin log about them."""
    kind = ContentType.objects.get_for_model(model)
    LogEntry.objects.filter(content_type=kind, object_id__in=[str(pk) for pk in pks]).delete()
    _, deleted = model._base_manager.filter(pk__in=pks).delete()
    return Counter(deleted)


def _forget_orphans(kinds: Iterable[type[models.Model]]) -> None:
    """The lines of Django's admin log on rows that are gone already: nothing says any more whose they were."""
    for model in kinds:
        lines = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(model))
        known = set(lines.values_list("object_id", flat=True).distinct())
        there = {str(pk) for pk in model._base_manager.filter(pk__in=_typed(model, known)).values_list("pk", flat=True)}
        lines.filter(object_id__in=known - there).delete()


def _typed(model: type[models.Model], texts: Iterable[str | None]) -> list[Any]:
    found = []
    for text in texts:
        with contextlib.suppress(ValidationError):
            found.append(model._meta.pk.to_python(text))
    return found


def _forget_threads(**whose: int) -> list[str]:
    """Delete the event logs of conversations, which Redis would keep for an hour, and a killed process on the disk.

    Returns the conversations' ids.
    """
    threads = [str(pk) for pk in Conversation.objects.filter(**whose).values_list("pk", flat=True)]
    configured_log().forget(threads)
    return threads


def _forget_sessions(user: str) -> None:
    gone = [row.pk for row in Session.objects.iterator() if row.get_decoded().get(SESSION_KEY) == user]
    Session.objects.filter(pk__in=gone).delete()


def _names_of(user: Any) -> list[str]:
    end_user = EndUser.objects.filter(user=user).first()
    names = [user.get_username(), *(getattr(user, name, "") for name in ("email", "first_name", "last_name"))]
    names += [end_user.external_id, end_user.name] if end_user else []
    return sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len, reverse=True)


def _forget_names(names: Sequence[str], instead: str) -> None:
    """Put a number in the place of a person's names, in what others did to or about them."""
    if not names:
        return
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE)

    def mentions(*fields: str) -> Q:
        wanted = Q()
        # JSON is stored with all but ASCII escaped, and SQLite knows no other letters' case: each row is read then.
        if all(name.isascii() for name in names):
            for field in fields:
                for name in names:
                    wanted |= Q(**{f"{field}__icontains": name})
        return wanted

    for entry in AuditEntry.objects.filter(mentions("target", "details")):
        found = entry.target, entry.details
        entry.target, entry.details = pattern.sub(instead, entry.target), _without(entry.details, pattern, instead)
        if (entry.target, entry.details) != found:
            entry.save(update_fields=["target", "details"])
    for line in LogEntry.objects.filter(mentions("object_repr", "change_message")):
        told = line.object_repr, line.change_message
        line.object_repr = pattern.sub(instead, line.object_repr)
        line.change_message = _without_in_text(line.change_message, pattern, instead)
        if (line.object_repr, line.change_message) != told:
            line.save(update_fields=["object_repr", "change_message"])


def _without(details: Any, pattern: re.Pattern[str], instead: str) -> Any:
    return json.loads(pattern.sub(instead, json.dumps(details, ensure_ascii=False)))


def _without_in_text(message: str, pattern: re.Pattern[str], instead: str) -> str:
    """As Django's admin log has it: JSON, or a sentence."""
    try:
        return json.dumps(_without(json.loads(message), pattern, instead))
    except ValueError:
        return pattern.sub(instead, message)
