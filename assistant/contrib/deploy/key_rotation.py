"""Re-encrypts stored secrets with the first of ASSISTANT_FIELD_ENCRYPTION_KEYS, so that older keys can be removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import F, TextField, Value
from django.db.models.functions import Cast

from assistant.models import Message
from assistant.models.fields import EncryptedTextField, cipher
from assistant.optional_apps import installed

BATCH_ROWS = 200


@dataclass(slots=True)
class Rotation:
    """Counts of one field's values: re-encrypted, already encrypted with the first key, and readable by no key."""

    label: str
    renewed: int = 0
    current: int = 0
    unreadable: int = 0


def encrypted_fields() -> list[tuple[type[models.Model], str]]:
    """Return every encrypted field as (model, field name)."""
    return [
        (model, field.name)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
        if isinstance(field, EncryptedTextField) and not model._meta.proxy
    ]


def rotate() -> Iterator[Rotation]:
    """Re-encrypt every value that is not encrypted with the first key, field by field.

    May be interrupted and repeated. Values that change meanwhile are skipped: they are encrypted with the first key.
    """
    for model, name in encrypted_fields():
        yield _rotate(model, name)
    yield _rotate(Message, "provider_state")
    for app in installed():
        if app.has("stored_secrets"):
            yield from import_module(f"{app.name}.stored_secrets").rotate()


def _rotate(model: type[models.Model], name: str) -> Rotation:
    result = Rotation(f"{model._meta.label}.{name}")
    first = Fernet(settings.ASSISTANT_FIELD_ENCRYPTION_KEYS[0])
    every = cipher()
    # Rows of all tenants, because the keys are the deployment's. The cast prevents the field from decrypting the value.
    rows = model._base_manager.annotate(stored=Cast(F(name), TextField())).exclude(stored="").order_by("pk")
    # States of providers are JSON where ASSISTANT_ENCRYPT_PROVIDER_STATE was not set.
    rows = rows.exclude(stored__startswith="{")
    last: Any = None
    while batch := list((rows if last is None else rows.filter(pk__gt=last)).values_list("pk", "stored")[:BATCH_ROWS]):
        for pk, stored in batch:
            if can_decrypt(first, stored):
                result.current += 1
                continue
            try:
                renewed = every.rotate(stored.encode()).decode()
            except InvalidToken:
                result.unreadable += 1
                continue
            result.renewed += rows.filter(pk=pk, stored=stored).order_by().update(**{name: Value(renewed, TextField())})
        last = batch[-1][0]
    return result


def can_decrypt(key: Fernet, stored: str) -> bool:
    """Return whether a key decrypts a stored value."""
    try:
        key.decrypt(stored.encode())
    except InvalidToken:
        return False
    return True
