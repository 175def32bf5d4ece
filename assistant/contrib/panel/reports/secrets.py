"""Finds stored secrets that no key decrypts (ASSISTANT_FIELD_ENCRYPTION_KEYS), as stored text: reading them raises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models.fields import EncryptedTextField, decrypted

# Rows of each model whose secrets are decrypted for one page, the newest.
MAX_ROWS = 1_000


def stored_text(field: str) -> Cast:
    """Return the query expression of an encrypted field as it is stored."""
    return Cast(field, TextField())


def unreadable(model: type[Model], name: str, tenants: TenantFilter) -> Iterator[tuple[str, str, Any]]:
    """Yield name, tenant's name and primary key of a model's rows with a secret that cannot be decrypted."""
    fields = [field.name for field in model._meta.fields if isinstance(field, EncryptedTextField)]
    rows: QuerySet[Any] = tenants.rows(model._default_manager.exclude(Q(**dict.fromkeys(fields, ""))))
    texts = {f"stored_{field}": stored_text(field) for field in fields}
    found = rows.order_by("-pk").annotate(**texts).values_list(name, "tenant__name", "pk", *texts)
    for label, tenant, key, *stored in found[:MAX_ROWS]:
        if not all(_is_readable(text) for text in stored):
            yield label, tenant or "", key


def _is_readable(stored: str) -> bool:
    """Whether the stored value of an encrypted field can be decrypted; an empty one can."""
    try:
        if stored:
            decrypted(stored, "the value")
    except ImproperlyConfigured:
        return False
    return True
