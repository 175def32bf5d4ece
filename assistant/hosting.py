"""Keeps tenants and memberships in sync with a host project's own models.

The setting `ASSISTANT_TENANTS` names a subclass of `HostTenants`. When the project saves or deletes rows, tenants are
updated in the same transaction. `manage.py sync_tenants` does it for older rows and those written in bulk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.utils.module_loading import import_string

from assistant.models import Membership, Tenant
from assistant.services.privacy.leaving import end_memberships
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit import ToolContext

Role = Membership.Role
ROLES = (Role.MEMBER, Role.ADMIN, Role.OWNER)
_UID = "assistant.hosting"


@dataclass(frozen=True, slots=True)
class TenantValues:
    """The values of one tenant. `slug` is unique and part of its URLs; `timezone` is an IANA name."""

    slug: str
    name: str
    timezone: str = "UTC"
    is_active: bool = True


class HostTenants(ABC):
    """Describes a project's own tenants. Subclass it, and name the subclass in `ASSISTANT_TENANTS`.

    `tenant_model` is your tenant model, as "app.Model". `membership_model` is the model of its memberships, also the
    `through` model of a many-to-many field, as "app.Model_field"; empty if memberships are not rows of a model.
    """

    tenant_model: ClassVar[str]
    membership_model: ClassVar[str] = ""

    @abstractmethod
    def values(self, row: Any) -> TenantValues:
        """Return the values for one of your tenants."""

    @abstractmethod
    def members(self, row: Any) -> Iterable[tuple[Any, str]]:
        """Yield its users, each with the role "member", "admin" or "owner".

        Admins and owners can manage the tenant in the admin if you set their `is_staff`.
        """

    def tenant_of(self, membership: Any) -> Any:
        """Return the tenant row of a row of `membership_model`; by default by its only foreign key to that model."""
        model = apps.get_model(self.tenant_model)
        names = [field.name for field in membership._meta.concrete_fields if field.related_model is model]
        if len(names) != 1:
            raise TypeError(f"{type(self).__name__}.tenant_of() must return the row of {self.tenant_model}")
        return getattr(membership, names[0])

    def on_created(self, tenant: Tenant, row: Any) -> None:  # noqa: B027 - not every project needs it
        """Called once for each new tenant, in the transaction that creates it, for example to add an assistant."""


def get_host() -> HostTenants | None:
    """Return the project's `HostTenants`, or None if it has none. Raises `ImproperlyConfigured` for a wrong setting."""
    if not settings.ASSISTANT_TENANTS:
        return None
    try:
        found = import_string(settings.ASSISTANT_TENANTS)
    except ImportError as exc:
        raise ImproperlyConfigured(f"ASSISTANT_TENANTS cannot be imported: {exc}") from exc
    if not (isinstance(found, type) and issubclass(found, HostTenants)):
        raise ImproperlyConfigured("ASSISTANT_TENANTS must name a subclass of assistant.hosting.HostTenants.")
    return found()


def host_tenant(context: ToolContext) -> Any:
    """Return the row of your tenant model that a tool is called for. It queries the database, so call it in sync tools.

    Raises:
        LookupError: the tenant does not belong to one of yours.
    """
    host = get_host()
    if host is None or not context.tenant.external_id:
        raise LookupError("The tenant of this call does not belong to one of the project's own.")
    return apps.get_model(host.tenant_model)._default_manager.get(pk=context.tenant.external_id)


@all_tenants()
@transaction.atomic
def sync_tenant(host: HostTenants, row: Any) -> Tenant:
    """Create or update the tenant and memberships for one of the project's tenants.

    Raises:
        ValidationError: a value is not valid, or another tenant has the slug.
    """
    tenant = Tenant.objects.select_for_update().filter(external_id=str(row.pk)).first()
    is_new = tenant is None
    tenant = tenant or Tenant(external_id=str(row.pk))
    values = host.values(row)
    wanted = {name: getattr(values, name) for name in ("slug", "name", "timezone", "is_active")}
    if is_new or any(getattr(tenant, name) != value for name, value in wanted.items()):
        for name, value in wanted.items():
            setattr(tenant, name, value)
        tenant.full_clean()
        tenant.save()
    _sync_members(tenant, {user.pk: _checked(role) for user, role in host.members(row)})
    if is_new:
        audit_trail.record(actor=None, action="tenant.add", target=tenant.slug, tenant=tenant)
        host.on_created(tenant, row)
    return tenant


def _checked(role: str) -> Role:
    if role not in ROLES:
        raise ValueError(f"a role is one of {', '.join(ROLES)}; not {role!r}")
    return Role(role)


def _sync_members(tenant: Tenant, wanted: Mapping[Any, Role]) -> None:
    memberships = Membership.objects.filter(tenant=tenant).exclude(role=Role.END_USER)
    current: dict[Any, str] = dict(memberships.values_list("user_id", "role"))
    end_memberships(actor=None, memberships=memberships.filter(user_id__in=current.keys() - wanted.keys()))
    for user_id, role in wanted.items():
        if user_id not in current:
            Membership.objects.create(tenant=tenant, user_id=user_id, role=role)
        elif current[user_id] != role:
            memberships.filter(user_id=user_id).update(role=role)


@all_tenants()
@transaction.atomic
def sync_all(host: HostTenants) -> tuple[int, int]:
    """Sync every tenant. Return how many the project has, and how many were deleted because it no longer has them."""
    seen = {str(sync_tenant(host, row).external_id) for row in apps.get_model(host.tenant_model)._default_manager.all()}
    gone = Tenant.objects.exclude(external_id=None).exclude(external_id__in=seen)
    count = gone.count()
    gone.delete()
    return len(seen), count


@all_tenants()
def _delete_tenant(pk: Any) -> None:
    Tenant.objects.filter(external_id=str(pk)).delete()


def connect_signals() -> None:
    """Sync tenants and memberships whenever the project changes its own. Called by `AppConfig.ready`."""
    host = get_host()
    if host is None:
        return
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
        # `raw` is set for fixtures, whose rows are loaded in any order; `sync_tenants` has to be run after them.
        if not raw:
            act(instance)

    signal.connect(receive, sender=sender, weak=False, dispatch_uid=f"{_UID}.{name}")


def _sync_if_exists(host: HostTenants, model: type[models.Model], membership: Any) -> None:
    # If the tenant itself is being deleted, its memberships are deleted first, and the row may be gone.
    row = model._default_manager.filter(pk=host.tenant_of(membership).pk).first()
    if row is not None:
        sync_tenant(host, row)


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
