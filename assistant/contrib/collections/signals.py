"""Keeps collections for chosen assistants closed, however code chooses them and whoever deletes one."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import m2m_changed, pre_delete
from django.utils import timezone

from assistant.contrib.collections.models import Collection
from assistant.models import Assistant


def connect() -> None:
    """Have the signals heard, once."""
    m2m_changed.connect(_chosen, sender=Collection.assistants.through, dispatch_uid="collection-assistants")
    pre_delete.connect(_deleted, sender=Assistant, dispatch_uid="collection-assistant-deleted")


def _chosen(*, instance: Any, action: str, using: str, **_: Any) -> None:
    """Note that a collection has been for chosen assistants: without any of them left it stays closed."""
    if action == "post_add":
        rows = Collection.objects.using(using).filter(tenant_id=instance.tenant_id, pk=instance.pk)
        rows.update(for_chosen_assistants=True, updated_at=timezone.now())
        instance.for_chosen_assistants = True


def _deleted(*, instance: Any, using: str, **_: Any) -> None:
    """The same of an assistant that goes, where its row in between was made past the signals of relations."""
    rows = Collection.objects.using(using).filter(tenant_id=instance.tenant_id, assistants=instance.pk)
    rows.filter(for_chosen_assistants=False).update(for_chosen_assistants=True, updated_at=timezone.now())
