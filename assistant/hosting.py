"""Your own tenants as ours: a project says how its tenant model and memberships read, and both are kept in step.

`ASSISTANT_TENANTS` names a subclass of `HostTenants` by its dotted path. What the project saves or deletes is followed
in the same transaction; `manage.py sync_tenants` does it for rows that were there before, or were written in bulk.
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
    """What an assistant's tenant takes over from yours; `slug` is its address and unique, `timezone` an IANA name."""

    slug: str
    name: str
    timezone: str = "UTC"
    is_active: bool = True


class HostTenants(ABC):
    """How a project's own tenants read. Subclass it, and name the subclass in `ASSISTANT_TENANTS`.

    `tenant_model` is your model, as "app.Model"; `membership_model` the one whose rows say who belongs to it (also the
    `through` of a many-to-many field, as "app.Model_field"), or nothing if `members` needs no such rows.
    """

    tenant_model: ClassVar[str]
    membership_model: ClassVar[str] = ""

    @abstractmethod
    def values(self, row: Any) -> TenantValues:
        """What is taken over from one of your tenants."""

    @abstractmethod
    def members(self, row: Any) -> Iterable[tuple[Any, str]]:
        """Its people: each user with a role of "member", "admin" or "owner".

        The latter two find their tenant in the admin, if you let them in there: `is_staff` stays yours to set.
        """

    def tenant_of(self, membership: Any) -> Any:
        """Your tenant that a row of `membership_model` belongs to; by default by its only foreign key there."""
        model = apps.get_model(self.tenant_model)
        names = [field.name for field in membership._meta.concrete_fields if field.related_model is model]
        if len(names) != 1:
            raise TypeError(f"{type(self).__name__}.tenant_of() must say which field leads to {self.tenant_model}")
        return getattr(membership, names[0])

    def on_created(self, tenant: Tenant, row: Any) -> None:  # noqa: B027 - not every project needs it
        """Called once for each tenant, in the transaction that makes it: the place to make its first assistant."""


def get_host() -> HostTenants | None:
    """The project's own, if it has any. Raises `ImproperlyConfigured` if the setting names something else."""
    if not settings.ASSISTANT_TENANTS:
        return None
    try:
        found = import_string(settings.ASSISTANT_TENANTS)
    except ImportError as exc:
        raise ImproperlyConfigured(f"ASSISTANT_TENANTS names what is not there: {exc}") from exc
    if not (isinstance(found, type) and issubclass(found, HostTenants)):
        raise ImproperlyConfigured("ASSISTANT_TENANTS must name a subclass of assistant.hosting.HostTenants.")
    return found()


def host_tenant(context: ToolContext) -> Any:
    """Your own tenant that a tool is called for: a row of your model. Queries the database; for sync tools.

    Raises:
        LookupError: the tenant follows none of yours.
    """
    host = get_host()
    if host is None or not context.tenant.external_id:
        raise LookupError("The tenant of this call follows none of the project's own.")
    return apps.get_model(host.tenant_model)._default_manager.get(pk=context.tenant.external_id)


@all_tenants()
@transaction.atomic
def sync_tenant(host: HostTenants, row: Any) -> Tenant:
    """Bring our tenant into step with one of the project's, and its members too; it is made if it was not there.

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
    places = Membership.objects.filter(tenant=tenant).exclude(role=Role.END_USER)
    there: dict[Any, str] = dict(places.values_list("user_id", "role"))
    end_memberships(actor=None, memberships=places.filter(user_id__in=there.keys() - wanted.keys()))
    for user_id, role in wanted.items():
        if user_id not in there:
            Membership.objects.create(tenant=tenant, user_id=user_id, role=role)
        elif there[user_id] != role:
            places.filter(user_id=user_id).update(role=role)


@all_tenants()
@transaction.atomic
def sync_all(host: HostTenants) -> tuple[int, int]:
    """Bring every tenant into step; how many the project has, and how many of ours it no longer had."""
    seen = {str(sync_tenant(host, row).external_id) for row in apps.get_model(host.tenant_model)._default_manager.all()}
    gone = Tenant.objects.exclude(external_id=None).exclude(external_id__in=seen)
    count = gone.count()
    gone.delete()
    return len(seen), count


@all_tenants()
def _forget(pk: Any) -> None:
    Tenant.objects.filter(external_id=str(pk)).delete()


def follow() -> None:
    """From now on, follow what the project does to its tenants and memberships; called when Django is ready."""
    host = get_host()
    if host is None:
        return
    model = apps.get_model(host.tenant_model)
    _connect(post_save, model, "tenant", lambda row: sync_tenant(host, row))
    _connect(post_delete, model, "tenant-gone", lambda row: _forget(row.pk))
    if not host.membership_model:
        return
    memberships = apps.get_model(host.membership_model)
    if memberships._meta.auto_created:
        _follow_many(host, model, memberships)
    else:
        for signal, name in ((post_save, "member"), (post_delete, "member-gone")):
            _connect(signal, memberships, name, lambda row: _sync_if_there(host, model, row))


def _connect(signal: Any, sender: type[models.Model], name: str, act: Callable[[Any], object]) -> None:
    def receive(instance: Any, raw: bool = False, **_: Any) -> None:
        # Fixtures are loaded row by row, in any order: `sync_tenants` follows them.
        if not raw:
            act(instance)

    signal.connect(receive, sender=sender, weak=False, dispatch_uid=f"{_UID}.{name}")


def _sync_if_there(host: HostTenants, model: type[models.Model], membership: Any) -> None:
    # With the tenant itself deleted, its memberships go before it, and there is nothing to keep in step.
    row = model._default_manager.filter(pk=host.tenant_of(membership).pk).first()
    if row is not None:
        sync_tenant(host, row)


def _follow_many(host: HostTenants, model: type[models.Model], through: type[models.Model]) -> None:
    """A plain many-to-many field has no rows that are saved one by one."""

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
