"""Deletes a tenant or a user completely: rows, files, sessions, event logs, and their names in other records.

Rows are deleted in batches, each in a transaction of its own, and the tenant or user last, so that the same command
continues after an interruption. One audit entry remains, with the number of rows by model and no name.
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
from assistant.services.knowledge.full_text import remove_deleted
from assistant.services.privacy.ownership import exclusive_users, owned_models, owned_rows
from assistant.services.runs.cancelling import cancel_runs_and_wait
from assistant.services.tenancy import audit_trail

BATCH = 500
# Shorter names are not replaced, because they are too often ordinary words.
MIN_NAME_LENGTH = 3


def count_tenant(tenant: Tenant) -> dict[str, int]:
    """Return the number of rows by model that `erase_tenant` would delete."""
    user, people = get_user_model(), list(exclusive_users(tenant).values_list("pk", flat=True))
    counts = Counter({Tenant._meta.label: 1, user._meta.label: len(people)})
    for model in {**owned_models(Tenant), **owned_models(user)}:
        to_delete = Q(pk__in=[])
        for root, pks in ((Tenant, [tenant.pk]), (user, people)):
            if model in owned_models(root):
                to_delete |= Q(pk__in=owned_rows(model, root, pks).values("pk"))
        counts[model._meta.label] += model._base_manager.filter(to_delete).count()
    return dict(+counts)


def count_user(user: AbstractBaseUser) -> dict[str, int]:
    """Return the number of rows by model that `erase_user` would delete."""
    root = type(user)
    counts = Counter({model._meta.label: owned_rows(model, root, [user.pk]).count() for model in owned_models(root)})
    counts[root._meta.label] += 1
    return dict(+counts)


def erase_tenant(*, tenant: Tenant, actor: AbstractBaseUser | None) -> dict[str, int]:
    """Delete a tenant, everything that belongs to it, and its users that belong to no other tenant.

    The tenant is deactivated and its runs are cancelled first, so that no rows are added meanwhile.

    Returns:
        The number of deleted rows by model.
    """
    pk = tenant.pk
    Tenant.objects.filter(pk=pk).update(is_active=False)
    cancel_runs_and_wait(tenant_id=pk)
    people = list(exclusive_users(tenant))
    threads = _delete_event_logs(tenant_id=pk)
    counts: Counter[str] = Counter()
    for person in people:
        counts += _erase_person(person)
    counts += _erase(Tenant, pk)
    with transaction.atomic():
        counts += _delete(Tenant, [pk])
        _delete_orphaned_log_entries([*owned_models(Tenant), Tenant])
        remove_deleted()
        audit_trail.record(actor=actor, action="tenant.erase", target=f"tenant {pk}", details={"rows": dict(counts)})
    # Again: a process that did not stop in time may have written since.
    configured_log().forget(threads)
    return dict(counts)


def erase_user(*, user: AbstractBaseUser, actor: AbstractBaseUser | None) -> dict[str, int]:
    """Delete a user and everything that belongs to them in all tenants; return the number of rows by model."""
    pk = user.pk
    counts = _erase_person(user)
    audit_trail.record(actor=actor, action="user.erase", target=f"user {pk}", details={"rows": dict(counts)})
    return dict(counts)


def _erase_person(user: Any) -> Counter[str]:
    model, pk = type(user), user.pk
    # So that the person cannot sign in while the rows are deleted.
    model._base_manager.filter(pk=pk).update(is_active=False)
    cancel_runs_and_wait(user_id=pk)
    threads = _delete_event_logs(user_id=pk)
    _delete_sessions(str(pk))
    _replace_names(_names_of(user), f"user {pk}")
    # Memberships go with the user, so that `erase_tenant` still finds the user after an interruption.
    counts = _erase(model, pk, keep=Membership) + _delete(model, [pk])
    configured_log().forget(threads)
    return counts


def _erase(root: type[models.Model], pk: Any, *, keep: type[models.Model] | None = None) -> Counter[str]:
    counts: Counter[str] = Counter()
    for model in owned_models(root):
        if model is not keep:
            while batch := list(owned_rows(model, root, [pk]).order_by("pk").values_list("pk", flat=True)[:BATCH]):
                counts += _delete(model, batch)
    return counts


@transaction.atomic
def _delete(model: type[models.Model], pks: Sequence[Any]) -> Counter[str]:
    """Delete rows with what depends on them, and the entries of Django's admin log about them."""
    kind = ContentType.objects.get_for_model(model)
    LogEntry.objects.filter(content_type=kind, object_id__in=[str(pk) for pk in pks]).delete()
    _, deleted = model._base_manager.filter(pk__in=pks).delete()
    return Counter(deleted)


def _delete_orphaned_log_entries(kinds: Iterable[type[models.Model]]) -> None:
    """Delete entries of Django's admin log about rows that no longer exist."""
    for model in kinds:
        lines = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(model))
        known = set(lines.values_list("object_id", flat=True).distinct())
        rows = model._base_manager.filter(pk__in=_primary_keys(model, known))
        existing = {str(pk) for pk in rows.values_list("pk", flat=True)}
        lines.filter(object_id__in=known - existing).delete()


def _primary_keys(model: type[models.Model], texts: Iterable[str | None]) -> list[Any]:
    found = []
    for text in texts:
        with contextlib.suppress(ValidationError):
            found.append(model._meta.pk.to_python(text))
    return found


def _delete_event_logs(**filters: int) -> list[str]:
    """Delete the event logs of conversations; return the conversations' ids.

    Redis would keep them for an hour, and the log files of a killed process would stay on disk.
    """
    threads = [str(pk) for pk in Conversation.objects.filter(**filters).values_list("pk", flat=True)]
    configured_log().forget(threads)
    return threads


def _delete_sessions(user: str) -> None:
    sessions = [row.pk for row in Session.objects.iterator() if row.get_decoded().get(SESSION_KEY) == user]
    Session.objects.filter(pk__in=sessions).delete()


def _names_of(user: Any) -> list[str]:
    end_user = EndUser.objects.filter(user=user).first()
    names = [user.get_username(), *(getattr(user, name, "") for name in ("email", "first_name", "last_name"))]
    names += [end_user.external_id, end_user.name] if end_user else []
    return sorted({name for name in names if len(name) >= MIN_NAME_LENGTH}, key=len, reverse=True)


def _replace_names(names: Sequence[str], replacement: str) -> None:
    """Replace a person's names in audit entries and in Django's admin log."""
    if not names:
        return
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE)

    def mentions(*fields: str) -> Q:
        wanted = Q()
        # All rows are read if a name is not ASCII, because it cannot be searched: stored JSON escapes it, and SQLite
        # ignores the case of ASCII letters only.
        if all(name.isascii() for name in names):
            for field in fields:
                for name in names:
                    wanted |= Q(**{f"{field}__icontains": name})
        return wanted

    for entry in AuditEntry.objects.filter(mentions("target", "details")):
        before = entry.target, entry.details
        entry.target, entry.details = (
            pattern.sub(replacement, entry.target),
            _replace_in_json(entry.details, pattern, replacement),
        )
        if (entry.target, entry.details) != before:
            entry.save(update_fields=["target", "details"])
    for line in LogEntry.objects.filter(mentions("object_repr", "change_message")):
        before = line.object_repr, line.change_message
        line.object_repr = pattern.sub(replacement, line.object_repr)
        line.change_message = _replace_in_message(line.change_message, pattern, replacement)
        if (line.object_repr, line.change_message) != before:
            line.save(update_fields=["object_repr", "change_message"])


def _replace_in_json(details: Any, pattern: re.Pattern[str], replacement: str) -> Any:
    return json.loads(pattern.sub(replacement, json.dumps(details, ensure_ascii=False)))


def _replace_in_message(message: str, pattern: re.Pattern[str], replacement: str) -> str:
    """Replace in a message of Django's admin log, which is JSON or a sentence."""
    try:
        return json.dumps(_replace_in_json(json.loads(message), pattern, replacement))
    except ValueError:
        return pattern.sub(replacement, message)
