"""Keeps what tools query in the schema of their tenant, in projects with django-tenants."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connections, models

from assistant.services.tenancy.host import get_host
from assistant.toolkit.carriers import register_carrier

PACKAGE = "django_tenants"


def tenant_model() -> type[models.Model] | None:
    """Return the project's tenant model if each of its rows has a schema; else None."""
    host = get_host()
    if host is None or not apps.is_installed(PACKAGE):
        return None
    from django_tenants.models import TenantMixin

    model = apps.get_model(host.tenant_model)
    return model if issubclass(model, TenantMixin) else None


def carry_schemas() -> None:
    """Enter the schema of the tenant around every tool from now on, in the threads in which it queries."""
    if tenant_model() is not None:
        register_carrier(_in_schema)


def has_schemas_of_its_own(model: type[models.Model]) -> bool:
    """Return whether a model's tables are in the schemas of tenants, so that its rows need no column for a tenant."""
    config = apps.get_app_config(model._meta.app_label)
    names = {config.name, f"{type(config).__module__}.{type(config).__qualname__}"}
    project: Any = settings
    return bool(names & set(project.TENANT_APPS)) and not names & set(project.SHARED_APPS)


@contextmanager
def _in_schema(context: Any) -> Iterator[None]:
    """Set the schema of the tenant that a tool is called for, and restore what was set.

    The schema belongs to the connection of a thread, so a tool that sets another one leaves nothing behind. On the
    event loop, where Django refuses queries, there is nothing to set: an async tool queries in threads, around which
    this is entered too.

    Raises:
        ObjectDoesNotExist: the project has no such tenant any more.
    """
    model = tenant_model()
    if model is None or _is_on_loop():
        yield
        return
    from django_tenants.utils import get_tenant_database_alias

    connection: Any = connections[get_tenant_database_alias()]
    before = connection.tenant
    connection.set_schema_to_public()
    try:
        # A tenant that no row of the project stands for has the public schema alone.
        if context.tenant.external_id:
            connection.set_tenant(model._default_manager.get(pk=context.tenant.external_id))
        yield
    finally:
        connection.set_tenant(before)


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
