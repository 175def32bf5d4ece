"""Deletes a tenant or a user completely: rows, files, sessions, event logs, and their names in other records.

Rows are deleted in batches, each in a transaction of its own, and the tenant or user last, so that the same command
continues after an interruption. One audit entry remains, with the number of rows by model and no name.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q

from assistant.models import Conversation, Membership, Tenant
from assistant.models.tenants import ErasedTenant
from assistant.services.eventlog.configured import configured_log
from assistant.services.knowledge.full_text import remove_deleted
from assistant.services.privacy.erasure_rules import erase_texts
from assistant.services.privacy.names import names_of, replace_names
from assistant.services.privacy.ownership import (
    deletable_models,
    exclusive_users,
    is_hosts_own,
    owned_models,
    owned_rows,
)
from assistant.services.runs.cancelling import cancel_runs_and_wait
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.end_users import directory
from assistant.services.tenancy.host import get_host, host_row, settled
from assistant.services.tenancy.memberships import check_users_leaving
from assistant.services.tenancy.sessions import end_sessions

BATCH = 500


def count_tenant(tenant: Tenant) -> dict[str, int]:
    """Return the number of rows by model that `erase_tenant` would delete."""
    user, people = get_user_model(), list(exclusive_users(tenant).values_list("pk", flat=True))
    counts = Counter({Tenant._meta.label: 1, user._meta.label: len(people)})
    for model in {**owned_models(Tenant), **deletable_models(user)}:
        to_delete = Q(pk__in=[])
        for root, pks in ((Tenant, [tenant.pk]), (user, people)):
            if model in deletable_models(root):
                to_delete |= Q(pk__in=owned_rows(model, root, pks).values("pk"))
        counts[model._meta.label] += model._base_manager.filter(to_delete).count()
    return dict(+counts)


def count_user(user: AbstractBaseUser) -> dict[str, int]:
    """Return the number of rows by model that `erase_user` would delete."""
    root = type(user)
    own = deletable_models(root)
    counts = Counter({model._meta.label: owned_rows(model, root, [user.pk]).count() for model in own})
    counts[root._meta.label] += 0 if is_hosts_own(user) else 1
    return dict(+counts)


def erase_tenant(*, tenant: Tenant, actor: AbstractBaseUser | None) -> dict[str, int]:
    """Delete a tenant, everything that belongs to it, and its users that belong to no other tenant.

    The tenant is deactivated and its runs are cancelled first, so that no rows are added meanwhile. The tenant and the
    users of a host project stay, unless `HostTenants.delete_tenant` deletes them; no sync creates the tenant again.

    Returns:
        The number of deleted rows by model.

    Raises:
        RuntimeError: within a transaction.
    """
    _refuse_transaction()
    pk, row = tenant.pk, host_row(tenant)
    if row is not None:
        # A sync would activate the tenant again, and create it again later.
        ErasedTenant.objects.get_or_create(external_id=str(row.pk))
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
        host = get_host()
        if host is not None and row is not None:
            settled(host.delete_tenant(row), "delete_tenant")  # type: ignore[func-returns-value]
    # Again: a process that did not stop in time may have written since.
    configured_log().forget(threads)
    return dict(counts)


def erase_user(*, user: AbstractBaseUser, actor: AbstractBaseUser | None) -> dict[str, int]:
    """Delete a user and everything that belongs to them in all tenants; return the number of rows by model.

    An account of a host project stays, unless `HostTenants.delete_user` deletes it.

    Raises:
        LastAdministrator: a tenant would lose its last owner, or its last admin; nothing was deleted.
        RuntimeError: within a transaction.
    """
    _refuse_transaction()
    check_users_leaving(users=[user])
    pk, host = user.pk, get_host()
    is_hosts = is_hosts_own(user)
    counts = _erase_person(user)
    audit_trail.record(actor=actor, action="user.erase", target=f"user {pk}", details={"rows": dict(counts)})
    if host is not None and is_hosts:
        settled(host.delete_user(user), "delete_user")  # type: ignore[func-returns-value]
    return dict(counts)


def _refuse_transaction() -> None:
    """Raise `RuntimeError` within a transaction.

    Its rollback would bring the rows back after the deletion was reported, without event logs and files, and until its
    end no other process would stop the runs.
    """
    try:
        with transaction.atomic(durable=True):
            pass
    except RuntimeError:
        raise RuntimeError(
            "An erasure cannot be part of a transaction. With ATOMIC_REQUESTS, decorate the view with "
            "django.db.transaction.non_atomic_requests."
        ) from None


def _erase_person(user: Any) -> Counter[str]:
    model, pk = type(user), user.pk
    is_hosts = is_hosts_own(user)
    if not is_hosts:
        # They cannot sign in while they are deleted.
        model._base_manager.filter(pk=pk).update(is_active=False)
    cancel_runs_and_wait(user_id=pk)
    threads = _delete_event_logs(user_id=pk)
    names = names_of(user)
    replace_names(names, f"user {pk}", is_ours_alone=is_hosts)
    counts = erase_texts(names)
    if is_hosts:
        counts += _erase(model, pk)
    else:
        end_sessions(user)
        # These go with the user, so that an erasure that was interrupted still finds the user, and knows whose it is.
        counts += _erase(model, pk, keep=frozenset({Membership, *directory().models})) + _delete(model, [pk])
    configured_log().forget(threads)
    return counts


def _erase(root: type[models.Model], pk: Any, *, keep: frozenset[type[models.Model]] = frozenset()) -> Counter[str]:
    counts: Counter[str] = Counter()
    for model in deletable_models(root):
        if model not in keep:
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
