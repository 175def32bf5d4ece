"""What orders the check of a tenant's documents: each change of one, once it is committed."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from assistant.models import Document, Tenant
from assistant.services.jobs import jobs

CHECK_JOB = "gaps.check"
# Documents that are stored one after the other are checked together.
DELAY = timedelta(seconds=30)


def connect() -> None:
    """Order a check with each change of a document."""
    post_save.connect(_changed, sender=Document, dispatch_uid="gaps")
    post_delete.connect(_changed, sender=Document, dispatch_uid="gaps")


def order_check(tenant_id: int) -> None:
    """Have a tenant's documents checked in the background, unless that is ordered already."""
    if Tenant.objects.filter(pk=tenant_id).exists() and not _waiting(tenant_id):
        jobs.schedule(tenant_id=tenant_id, name=CHECK_JOB, key="", due_at=timezone.now() + DELAY)


def _waiting(tenant_id: int) -> bool:
    return jobs.waiting_jobs(tenant_id=tenant_id, name=CHECK_JOB).exists()


def _changed(*, instance: Document, raw: bool = False, **_: Any) -> None:
    if not raw:
        transaction.on_commit(partial(order_check, instance.tenant_id))
