"""Which documents are older than the rows that they come from, by the rows' own moment of change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models

from assistant.contrib.collections.models import CollectedDocument
from assistant.services.knowledge.source_changes import Outdated

# Documents that come from rows and are looked at, and keys that are asked for at once.
MAX_ROWS = 10_000
CHUNK = 500


def changed_later(tenant_id: int) -> Iterator[Outdated]:
    """Yield the documents whose rows were changed after them. Of models without a moment of change nothing is known."""
    entries = CollectedDocument.objects.filter(tenant_id=tenant_id).exclude(row_model="").order_by("pk")
    rows = entries.values_list("row_model", "row_key", "document_id", "document__updated_at")
    by_model: dict[str, list[tuple[str, int, datetime]]] = {}
    for model, key, document_id, updated_at in rows[:MAX_ROWS]:
        by_model.setdefault(model, []).append((key, document_id, updated_at))
    for label, documents in by_model.items():
        for at in range(0, len(documents), CHUNK):
            some = documents[at : at + CHUNK]
            changed = _changes(label, [key for key, _document, _at in some])
            for key, document_id, updated_at in some:
                if key in changed and changed[key] > updated_at:
                    yield Outdated(document_id, f"{label} {key}")


def _changes(label: str, keys: list[str]) -> dict[str, datetime]:
    """Return when rows of a model were changed, by their keys as texts."""
    try:
        model: Any = apps.get_model(label)
    except (LookupError, ValueError):
        return {}
    field = next((one for one in model._meta.concrete_fields if _is_moment_of_change(one)), None)
    if field is None:
        return {}
    try:
        # Their own tenant has placed these rows' documents, and nothing but a moment is read.
        rows = model._base_manager.filter(pk__in=keys).values_list("pk", field.attname)
        return {str(pk): moment for pk, moment in rows if isinstance(moment, datetime)}
    except (ValueError, ValidationError):
        return {}


def _is_moment_of_change(field: models.Field[Any, Any]) -> bool:
    return isinstance(field, models.DateTimeField) and field.auto_now
