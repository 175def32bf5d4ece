"""Keeps tenants and memberships in sync with a host project's own models.

The setting `ASSISTANT_TENANTS` names a subclass of `HostTenants`. When the project saves or deletes rows, tenants are
updated in the same transaction. `manage.py assistant_sync_tenants` does it for older rows and those written in bulk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save

from assistant.models import Membership, Tenant
from assistant.models.tenants import ErasedTenant
from assistant.services.privacy.leaving import end_memberships
from assistant.services.runs.extensions.deployment import add_extension
from assistant.services.tenancy import audit_trail, schemas
from assistant.services.tenancy.host import HostTenants, TenantValues, configure_tenant_models, get_host, settled
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from assistant.toolkit import ToolContext
from assistant.toolkit.unknown_options import list_options_of

Role = Membership.Role
ROLES = (Role.MEMBER, Role.ADMIN, Role.OWNER)
_UID = "assistant.hosting"

__all__ = [
    "HostTenants",
    "TenantValues",
    "add_extension",
    "configure_tenant_models",
    "connect_signals",
    "get_host",
    "host_scope",
    "host_tenant",
    "restore_tenant",
    "sync_all",
    "sync_tenant",
]


def host_tenant(context: ToolContext) -> Any:
    """Return the row of your tenant model that a tool is called for. It queries the database, so call it in sync tools.

    Raises:
        LookupError: the tenant follows no row of your tenant model.
    """
    host = get_host()
    if host is None or not context.tenant.external_id:
        raise LookupError("The tenant of this call follows no row of the project's tenant model.")
    return apps.get_model(host.tenant_model)._default_manager.get(pk=context.tenant.external_id)


@contextmanager
def host_scope(row: Any) -> Iterator[None]:
    """Let a block of your own code see the rows of one of your tenants, where row-level security protects your tables.

    Args:
        row: a row of your tenant model.
    """
    with all_tenants():
        found = list(Tenant.objects.filter(external_id=str(row.pk)).values_list("pk", flat=True))
    with tenant_scope(*found):
        yield


@all_tenants()
@transaction.atomic
def sync_tenant(host: HostTenants, row: Any) -> Tenant | None:
    """Create or update the tenant and memberships for one of the project's tenants.

    Returns:
        The tenant, or None if its data was deleted (`delete_tenant`) and `restore_tenant` was not called since.

    Raises:
        ValidationError: a value is not valid, or another tenant has the slug.
    """
    if ErasedTenant.objects.filter(external_id=str(row.pk)).exists():
        return None
    tenant = Tenant.objects.select_for_update().filter(external_id=str(row.pk)).first()
    is_new = tenant is None
    tenant = tenant or Tenant(external_id=str(row.pk))
    values = settled(host.values(row), "values")
    wanted = {name: getattr(values, name) for name in ("slug", "name", "timezone", "is_active")}
    if is_new or any(getattr(tenant, name) != value for name, value in wanted.items()):
        for name, value in wanted.items():
            setattr(tenant, name, value)
        tenant.full_clean()
        tenant.save()
    _sync_members(tenant, {user.pk: _checked(role) for user, role in settled(host.members(row), "members")})
    if is_new:
        audit_trail.record(actor=None, action="tenant.add", target=tenant.slug, tenant=tenant)
        settled(host.on_created(tenant, row), "on_created")  # type: ignore[func-returns-value]
    return tenant


def _checked(role: str) -> Role:
    if role not in ROLES:
        raise ValueError(f"a role is one of {', '.join(ROLES)}; not {role!r}")
    return Role(role)


def _sync_members(tenant: Tenant, wanted: Mapping[Any, Role]) -> None:
    memberships = Membership.objects.filter(tenant=tenant).exclude(role=Role.END_USER)
    current: dict[Any, str] = dict(memberships.values_list("user_id", "role"))
    gone = memberships.filter(user_id__in=current.keys() - wanted.keys())
    end_memberships(actor=None, memberships=gone, keeps_administrators=False)
    for user_id, role in wanted.items():
        if user_id not in current:
            Membership.objects.create(tenant=tenant, user_id=user_id, role=role)
        elif current[user_id] != role:
            memberships.filter(user_id=user_id).update(role=role)


@all_tenants()
@transaction.atomic
def sync_all(host: HostTenants) -> tuple[int, int]:
    """Sync every tenant. Return how many were synced, and how many were deleted because the project no longer has them.

    Those whose data was deleted, and that `restore_tenant` has not made again, are not synced.
    """
    rows = list(apps.get_model(host.tenant_model)._default_manager.all())
    seen = {str(row.pk) for row in rows}
    synced = sum(sync_tenant(host, row) is not None for row in rows)
    ErasedTenant.objects.exclude(external_id__in=seen).delete()
    gone = Tenant.objects.exclude(external_id=None).exclude(external_id__in=seen)
    count = gone.count()
    gone.delete()
    return synced, count


@all_tenants()
def _delete_tenant(pk: Any) -> None:
    Tenant.objects.filter(external_id=str(pk)).delete()
    ErasedTenant.objects.filter(external_id=str(pk)).delete()


@all_tenants()
@transaction.atomic
def restore_tenant(row: Any) -> Tenant:
    """Create the tenant for a row of your tenant model again, without its earlier data, after `delete_tenant`.

    Raises:
        LookupError: the setting ASSISTANT_TENANTS names no class.
        ValidationError: a value is not valid, or another tenant has the slug.
    """
    host = get_host()
    if host is None:
        raise LookupError("The setting ASSISTANT_TENANTS names no class.")
    ErasedTenant.objects.filter(external_id=str(row.pk)).delete()
    sync_tenant(host, row)
    return Tenant.objects.get(external_id=str(row.pk))


def connect_signals() -> None:
    """Follow the project: sync tenants and memberships whenever it changes its own, and enter their schemas.

    Called by `AppConfig.ready`.
    """
    host = get_host()
    if host is None:
        return
    schemas.carry_schemas()
    model = apps.get_model(host.tenant_model)
    _connect(post_save, model, "tenant", lambda row: sync_tenant(host, row))
    _connect(post_delete, model, "tenant-gone", lambda row: _delete_tenant(row.pk))
    if not host.membership_model:
        return
    memberships = apps.get_model(host.membership_model)
    if memberships._meta.auto_created:
        _follow_many_to_many(host, model, memberships)
    else:
        for signal, name in ((post_save, "member"), (post_delete, "member-gone")):
            _connect(signal, memberships, name, lambda row: _sync_if_exists(host, model, row))


def _connect(signal: Any, sender: type[models.Model], name: str, act: Callable[[Any], object]) -> None:
    def receive(instance: Any, raw: bool = False, **_: Any) -> None:
        # `raw` is set for fixtures, whose rows are loaded in any order; run `assistant_sync_tenants` after them.
        if not raw:
            act(instance)

    signal.connect(receive, sender=sender, weak=False, dispatch_uid=f"{_UID}.{name}")


def _sync_if_exists(host: HostTenants, model: type[models.Model], membership: Any) -> None:
    tenant = settled(host.tenant_of(membership), "tenant_of")
    keys = _tenants_of_people(membership)
    if tenant is not None:
        keys.add(str(tenant.pk))
    # If the tenant itself is being deleted, its memberships are deleted first, and the row may be gone.
    for row in model._default_manager.filter(pk__in=keys):
        sync_tenant(host, row)


@all_tenants()
def _tenants_of_people(membership: Any) -> set[str]:
    """Return the keys of the project's tenants whose members the people of a membership are: it may have moved."""
    user_model = get_user_model()
    people = [membership.pk] if isinstance(membership, user_model) else []
    people += [
        getattr(membership, field.attname)
        for field in membership._meta.concrete_fields
        if field.related_model is user_model
    ]
    found = Membership.objects.filter(user_id__in=people).exclude(role=Role.END_USER)
    keys = found.exclude(tenant__external_id=None).values_list("tenant__external_id", flat=True)
    return {key for key in keys if key is not None}


def _follow_many_to_many(host: HostTenants, model: type[models.Model], through: type[models.Model]) -> None:
    """Follow a many-to-many field without a model of its own, which sends `m2m_changed` only."""

    def receive(instance: Any, action: str, pk_set: set[Any] | None, **_: Any) -> None:
        if not action.startswith("post_"):
            return
        rows = model._default_manager.all()
        if isinstance(instance, model):
            rows = rows.filter(pk=instance.pk)
        elif pk_set is not None:
            rows = rows.filter(pk__in=pk_set)
        for row in rows:
            sync_tenant(host, row)

    m2m_changed.connect(receive, sender=through, weak=False, dispatch_uid=f"{_UID}.many")


list_options_of(__name__)
