"""Orders the document of a row that is saved or deleted, in the transaction of that change."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from assistant.contrib.data.knowledge_sources import declared_sources
from assistant.contrib.data.models import RowDocument
from assistant.models import Tenant
from assistant.services.jobs import jobs
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit.guards.tenant_paths import tenant_models

ROW_JOB = "knowledge_sources.row"
SOURCE_JOB = "knowledge_sources.sync"
# Of a job's key.
_MAX_KEY = 100


def connect() -> None:
    """Hear of changes of the models that are knowledge."""
    for source in declared_sources():
        post_save.connect(_changed, sender=source.model, dispatch_uid=f"knowledge-{source.label}")
        post_delete.connect(_changed, sender=source.model, dispatch_uid=f"knowledge-{source.label}")


def _changed(*, instance: Any, raw: bool = False, **_: Any) -> None:
    if raw:
        return
    label = instance._meta.label
    key = str(instance.pk)
    name = f"{label} {key}"
    if len(name) > _MAX_KEY:
        return  # the next look at all rows finds it
    with all_tenants():
        entries = RowDocument.objects.filter(row_model=label, row_key=key)
        known = set(entries.values_list("tenant_id", flat=True))
        for tenant_id in sorted(known | _tenants_of(instance)):
            jobs.schedule(tenant_id=tenant_id, name=ROW_JOB, key=name, due_at=timezone.now())


def _tenants_of(instance: Any) -> set[int]:
    """Return the active tenants that a row leads to now."""
    model = type(instance)
    found: set[int] = set()
    for way in tenant_models().ways(model):
        if not way.key:
            continue
        try:
            values = list(model._base_manager.filter(pk=instance.pk).values_list(way.lookup, flat=True)[:100])
        except ObjectDoesNotExist:
            continue
        column = "pk" if way.key == "id" else "external_id"
        wanted = [value if column == "pk" else str(value) for value in values if value is not None]
        found |= set(Tenant.objects.filter(is_active=True, **{f"{column}__in": wanted}).values_list("pk", flat=True))
    return found
