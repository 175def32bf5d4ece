"""Describes a host project's own tenants: what `ASSISTANT_TENANTS` names."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from assistant import optional_apps
from assistant.models import Tenant
from assistant.toolkit.calls.gate import discard, positional_mistake
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.guards import tenant_paths

T = TypeVar("T")

# Packages that projects commonly install, whose rows belong to people, to the site or to its machinery.
THIRD_PARTY = frozenset(
    """actstream allauth auditlog avatar axes background_task cachalot channels_postgres cms constance
    corsheaders dbbackup django_apscheduler django_celery_beat django_celery_results django_comments django_cron
    django_extensions django_mailbox django_otp django_q django_rq django_ses django_structlog django_tenants
    djcelery_email djstripe drf_api_key easy_thumbnails filer guardian health_check hijack huey imagekit
    import_export impersonate invitations jazzmin jet knox lockdown mailer maintenance_mode mptt newsletter
    notifications oauth2_provider oidc_provider organizations pghistory pgtrigger post_office procrastinate
    push_notifications reversion rest_framework rest_framework_api_key rest_framework_simplejwt robots rosetta
    rules silk simple_history social_django sorl taggit tenant_users thumbnails treebeard two_factor unfold
    user_sessions waffle wagtail watson webpush""".split()  # noqa: SIM905 - a list literal of these would fill a screen
)


@dataclass(frozen=True, slots=True)
class TenantValues:
    """The values of one tenant. `slug` is unique and part of its URLs, `timezone` an IANA name."""

    slug: str
    name: str
    timezone: str = "UTC"
    is_active: bool = True


class HostTenants(ABC):
    """Describes a project's own tenants. Subclass it, and name the subclass in `ASSISTANT_TENANTS`.

    The methods are sync, because they are called within transactions and signals; an async one stops the start.

    `tenant_model` is your tenant model, as "app.Model". `membership_model` is the model of its memberships, also the
    `through` model of a many-to-many field, as "app.Model_field"; empty if memberships are not rows of a model.

    `name_fields` lists fields of your user model that hold a name and are not called so.

    `tenant_paths` gives, for models whose relations do not show it, the lookup from a row to its tenant, such as
    `{"shop.Parcel": "order__customer__account"}`. It may end at a column with your tenant's primary key. `tenantless`
    lists models, as "app.Model", or whole apps whose rows belong to no tenant.
    """

    tenant_model: ClassVar[str]
    membership_model: ClassVar[str] = ""
    tenant_paths: ClassVar[Mapping[str, str]] = {}
    tenantless: ClassVar[Collection[str]] = ()
    name_fields: ClassVar[Collection[str]] = ()

    @abstractmethod
    def values(self, row: Any) -> TenantValues:
        """Return the values for one of your tenants."""

    @abstractmethod
    def members(self, row: Any) -> Iterable[tuple[Any, str]]:
        """Yield its users, each with the role "member", "admin" or "owner".

        Admins and owners can manage the tenant in the admin if you set their `is_staff`.
        """

    def tenant_of(self, membership: Any) -> Any:
        """Return the tenant row of a row of `membership_model`; by default by its only foreign key to that model.

        None for a row that belongs to no tenant.
        """
        model = apps.get_model(self.tenant_model)
        names = [field.name for field in membership._meta.concrete_fields if field.related_model is model]
        if len(names) != 1:
            raise TypeError(f"{type(self).__name__}.tenant_of() must return the row of {self.tenant_model}")
        return getattr(membership, names[0])

    def on_created(self, tenant: Tenant, row: Any) -> None:  # noqa: B027 - not every project needs it
        """Called once for each new tenant, in the transaction that creates it, for example to add an assistant."""

    def export_user(self, user: Any) -> Mapping[str, Iterable[Any]]:
        """Return your own data of a user for an export: rows of your models, or mappings, by the name of their file.

        By default nothing. The user's own row is part of every export, without the password.
        """
        return {}

    def export_tenant(self, row: Any) -> Mapping[str, Iterable[Any]]:
        """Return your own data of a tenant for an export, as `export_user` does; by default its row."""
        return {row._meta.label: [row]}

    def delete_user(self, user: Any) -> None:  # noqa: B027 - the default is to do nothing
        """Called after everything of a user that the assistant has was deleted. By default the account stays."""

    def delete_tenant(self, row: Any) -> None:  # noqa: B027 - the default is to do nothing
        """Called after everything that the assistant has of a tenant was deleted, in the transaction that deletes it.

        By default your tenant and its users stay, and the tenant is not created again until `restore_tenant`.
        """


# The methods, and how many arguments each takes.
_METHODS: Mapping[str, int] = {
    "values": 1,
    "members": 1,
    "tenant_of": 1,
    "on_created": 2,
    "export_user": 1,
    "export_tenant": 1,
    "delete_user": 1,
    "delete_tenant": 1,
}


@lru_cache
def _mistake_in(kind: type[HostTenants]) -> str:
    """Return what is wrong with the methods of a project's class; empty if nothing is."""
    host = kind()
    for name, count in _METHODS.items():
        method = getattr(host, name)
        if is_async(method):
            return f"{name} is async, and is called in a transaction, where nothing can be awaited"
        if mistake := positional_mistake(method, count):
            return f"{name} {mistake}"
    return ""


def settled(answer: T, method: str) -> T:
    """Return what a method of a project's `HostTenants` gave. Raises `TypeError` for an awaitable."""
    if inspect.isawaitable(answer):
        discard(answer)
        raise TypeError(f"{settings.ASSISTANT_TENANTS}.{method} gave an awaitable, which nothing can await here")
    return answer


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
    if mistake := _mistake_in(found):
        raise ImproperlyConfigured(f"{settings.ASSISTANT_TENANTS}: {mistake}.")
    return found()


def configure_tenant_models() -> None:
    """Tell the checks of tool results and of the database which models are tenants. Called by `AppConfig.ready`.

    Raises:
        ImproperlyConfigured: `HostTenants` names a model or a lookup that does not exist.
    """
    host = get_host()
    if host is None:
        tenant_paths.configure(tenant_paths.TenantModels({Tenant: "id"}))
        return
    try:
        models = tenant_paths.TenantModels(
            {Tenant: "id", apps.get_model(host.tenant_model): "external_id"},
            declared={apps.get_model(label): lookup for label, lookup in host.tenant_paths.items()},
            tenantless=[model for name in host.tenantless for model in _models_named(name)],
        )
    except (LookupError, ValueError) as exc:
        raise ImproperlyConfigured(f"{settings.ASSISTANT_TENANTS}: {exc}") from exc
    tenant_paths.configure(models)


def _models_named(name: str) -> Iterator[Any]:
    if "." in name:
        yield apps.get_model(name)
    else:
        yield from apps.get_app_config(name).get_models(include_auto_created=True)


def host_model() -> Any | None:
    """Return the project's own tenant model, or None if it has none."""
    host = get_host()
    return None if host is None else apps.get_model(host.tenant_model)


def membership_model() -> Any | None:
    """Return the model of the project's memberships, or None if it has named none."""
    host = get_host()
    return apps.get_model(host.membership_model) if host is not None and host.membership_model else None


def host_row(tenant: Tenant) -> Any | None:
    """Return the project's own row that a tenant follows, or None if there is none."""
    model = host_model()
    if model is None or tenant.external_id is None:
        return None
    return model._default_manager.filter(pk=tenant.external_id).first()


def is_third_party(model: Any) -> bool:
    """Return whether a model is Django's or of a package in `THIRD_PARTY`, not the project's own."""
    package = apps.get_app_config(model._meta.app_label).name.partition(".")[0]
    return package == "django" or package in THIRD_PARTY


def models_without_tenant() -> list[Any]:
    """Return the project's models whose rows lead to no tenant, so that nothing can check them.

    Models of Django, of this app, of `THIRD_PARTY` and the user model, whose rows can belong to several tenants, are
    not among them.
    """
    if get_host() is None:
        return []
    known = tenant_paths.tenant_models()
    ours = optional_apps.labels()
    return [
        model
        for model in apps.get_models()
        if model._meta.app_label not in ours and not is_third_party(model)
        if model is not get_user_model() and not model._meta.proxy
        if model not in known.tenantless and not known.ways(model)
    ]
